// report.html: one file that shows a run, without a network, a script library or a server. It is
// readable at any width, in light and dark mode, on paper, and without JavaScript, which only shows
// the values of the curves under the pointer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/report/metrics.h"
#include "trainer/report/setting.h"
#include "trainer/report/summary.h"
#include "trainer/report/tally.h"

namespace bp::trainer {

// A sample that the model got wrong, or nearly so.
struct WorstRow {
  std::int64_t sample_id = 0;
  std::int64_t text_id = 0;
  int label = 0;
  int prediction = 0;
  double probability = 0;  // probability that the model gave to the true label
  std::string text = {};   // set only for the rows that are kept
};

// Keeps the `limit` rows with the highest loss, that is, the lowest probability of the true label.
// Of equal rows it keeps the lower sample id, so the result does not depend on the order of add().
class WorstRows {
 public:
  explicit WorstRows(std::size_t limit = 5) : limit_(limit) {}
  void add(WorstRow row);
  [[nodiscard]] std::vector<WorstRow>& rows() { return rows_; }  // the worst first

 private:
  std::size_t limit_;
  std::vector<WorstRow> rows_;
};

// The detailed result of one split, for the confusion matrix and the tables.
struct EvaluationDetail {
  std::string split = {};  // "test"
  Tally tally;
  std::vector<WorstRow> worst = {};
};

struct Host {
  std::string name = {};
  int ranks = 1;
};

struct Report {
  std::string title = {};  // the run's name
  RunSummary summary = {};
  Metrics metrics = {};
  std::string main_score = {};  // its key
  std::vector<std::string> labels = {};
  std::optional<EvaluationDetail> evaluation =
      {};  // of the test split, or of dev if there is no test split
  std::vector<Setting> settings = {};
  std::vector<Host> hosts = {};
};

// Returns the whole page. Escapes all texts, which may hold anything.
[[nodiscard]] std::string render_report(const Report& report);

}  // namespace bp::trainer
