// report.html: one file that shows a run.
#pragma once

#include <string>
#include <vector>

#include "base/options/setting.h"
#include "base/report/section.h"
#include "trainer/report/metrics.h"
#include "trainer/report/sessions.h"
#include "trainer/report/summary.h"

namespace bp::trainer {

struct Report {
  std::string title = {};  // the run's name
  RunSummary summary = {};
  Metrics metrics = {};
  std::string main_score = {};                 // its key
  bool higher_is_better = true;                // of the main score
  std::vector<Tile> tiles = {};                // of the task
  Sections results = {};                       // the task's
  std::vector<std::string> result_files = {};  // names of the files with the task's results
  std::string folder = {};                     // that holds the files; empty: that of the page
  std::vector<Setting> settings = {};
  std::vector<RunHost> hosts = {};
  std::vector<Session> sessions = {};  // the first one first; may be empty
};

// The course of a number of each step, and of a score on dev, over the steps of a run.
[[nodiscard]] Series of_steps(const Metrics& metrics,
                              const std::string& name,
                              double StepRecord::*value,
                              Series::Look look = Series::Look::noisy);
[[nodiscard]] Series of_dev(const Metrics& metrics, const std::string& key);

// Returns the whole page.
[[nodiscard]] std::string render_report(const Report& report);

}  // namespace bp::trainer
