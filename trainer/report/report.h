// report.html: one file that shows a run to a person, without a network, a script library or a
// server. It reads well at any width, in light and dark, on paper, and without JavaScript (which
// only adds a reading of the curves under the pointer).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/report/metrics.h"
#include "trainer/report/summary.h"
#include "trainer/report/tally.h"

namespace bp::trainer {

// A sample that the model got wrong, or nearly.
struct WorstRow {
  std::int64_t sample_id = 0;
  std::int64_t text_id = 0;
  int label = 0;
  int prediction = 0;
  double probability = 0;  // given to the true label
  std::string text = {};   // filled in for those that are kept
};

// Keeps the `limit` rows with the highest loss, that is the lowest probability of the true label;
// among equals the lower sample id, so the choice does not depend on the order of coming.
class WorstRows {
 public:
  explicit WorstRows(std::size_t limit = 5) : limit_(limit) {}
  void add(WorstRow row);
  [[nodiscard]] std::vector<WorstRow>& rows() { return rows_; }  // the worst first

 private:
  std::size_t limit_;
  std::vector<WorstRow> rows_;
};

// The detailed result of one split: what the confusion matrix and the tables show.
struct EvaluationDetail {
  std::string split = {};  // "test"
  Tally tally;
  std::vector<WorstRow> worst = {};
};

struct Setting {
  std::string key = {};
  std::string value = {};
  std::string origin = {};  // "command line", "default"; may be empty
};

// Of the setting with this key; "" where there is none.
[[nodiscard]] std::string value_of(const std::vector<Setting>& settings, const std::string& key);

struct Host {
  std::string name = {};
  int ranks = 1;
};

struct Report {
  std::string title = {};  // the run's name
  RunSummary summary = {};
  Metrics metrics = {};
  std::vector<std::string> labels = {};
  std::optional<EvaluationDetail> evaluation =
      {};  // of the test split, or of dev where there is none
  std::vector<Setting> settings = {};
  std::vector<Host> hosts = {};
};

// The whole page; any text may hold anything.
[[nodiscard]] std::string render_report(const Report& report);

}  // namespace bp::trainer
