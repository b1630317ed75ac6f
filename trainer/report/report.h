// report.html: one file that shows a run, without a network, a script library or a server. It is
// readable at any width, in light and dark mode, on paper, and without JavaScript, which only shows
// the values of the curves under the pointer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/options/setting.h"
#include "trainer/report/host.h"
#include "trainer/report/metrics.h"
#include "trainer/report/sessions.h"
#include "trainer/report/summary.h"

namespace bp::trainer {

// One of the most important numbers, in large type.
struct Tile {
  std::string name = {};   // "Accuracy"
  std::string value = {};  // "91.2 %"
  std::string note = {};   // "test"
};

struct Report {
  std::string title = {};  // the run's name
  RunSummary summary = {};
  Metrics metrics = {};
  std::string main_score = {};                 // its key
  bool higher_is_better = true;                // of the main score
  std::vector<Tile> tiles = {};                // of the task
  std::string results = {};                    // the task's sections, as HTML
  std::vector<std::string> result_files = {};  // names of the files with the task's results
  std::string folder = {};                     // that holds the files; empty: that of the page
  std::vector<Setting> settings = {};
  std::vector<Host> hosts = {};
  std::vector<Session> sessions = {};  // the first one first; may be empty
};

// Returns the best evaluation of the dev split; null without one.
[[nodiscard]] const EvaluationRecord* best_dev(const Report& report);

// Returns the whole page. Escapes all texts, which may hold anything.
[[nodiscard]] std::string render_report(const Report& report);

}  // namespace bp::trainer
