// Reads the record of a run from its folder. Reading changes nothing, so a run that is in progress
// can be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/options/setting.h"
#include "trainer/report/metrics.h"
#include "trainer/report/sessions.h"
#include "trainer/report/summary.h"

namespace bp::trainer {

enum class RunState : std::uint8_t { running, finished, stopped, failed };
[[nodiscard]] const char* name_of(RunState state);

struct RunRecord {
  std::string path = {};
  RunState state = RunState::failed;
  std::string why = {};  // of a failure, in one line; may be empty
  std::vector<Setting> settings = {};
  Metrics metrics = {};
  std::optional<RunSummary> summary = {};  // of a finished run
  std::vector<Session> sessions = {};      // none if an older bert_train trained the run
  MainScore main_score = {};

  // Of the settings, "classify"; "?" if they lack it.
  [[nodiscard]] std::string task() const;
  [[nodiscard]] std::string model() const;
  [[nodiscard]] std::int64_t steps() const;  // done, as far as the files know
  [[nodiscard]] double epochs() const;
  [[nodiscard]] double train_loss() const;          // of the last logged step; NaN without one
  [[nodiscard]] double train_seconds() const;       // in training steps
  [[nodiscard]] double samples_per_second() const;  // over train_seconds(); NaN without a step
  [[nodiscard]] std::string begun() const;          // "2026-11-24T03:02:00Z", or "" if unknown
  // Return the evaluation of the dev split with the best main score, and the last one; none without
  // one.
  [[nodiscard]] const EvaluationRecord* best_dev() const { return metrics.best_dev(main_score); }
  [[nodiscard]] const EvaluationRecord* last_dev() const;
  // Returns a score of the test split; NaN if there is none.
  [[nodiscard]] double test(const std::string& key) const;
};

// Returns whether the folder looks like that of a run that has begun to train.
[[nodiscard]] bool is_run(const std::string& path);

// Throws InputError: 66 if the folder is none of a run, 65 with the file if one of its files is
// damaged.
[[nodiscard]] RunRecord read_run(const std::string& path);

}  // namespace bp::trainer
