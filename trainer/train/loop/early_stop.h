// When a run ends before its last step. All of it is a function of the dev evaluations and of the
// state of a checkpoint, which are the same on all ranks, so all ranks decide the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/options/options.h"
#include "trainer/report/evaluation_summary.h"

namespace bp::trainer {

// Why training ended.
enum class RunEnd : std::uint8_t { steps, patience, target, max_time };
// As summary.json has it: "steps", "patience", "target-score", "max-time".
[[nodiscard]] const char* name_of(RunEnd end);

// Counts the evaluations that do not improve the score. One improves it if it is better than the
// best one before by more than `min_improvement`. So small steps that add up to more than that
// improve it, too. A score that is NaN improves nothing.
class EarlyStop {
 public:
  // `before`: of the evaluations before the run starts or resumes.
  EarlyStop(const EarlyStopOptions& options, const MainScore& metric, const Improvement& before);

  void evaluated(const EvaluationSummary& dev);

  // Returns why the run ends here, or nothing. `elapsed`: see TimeLimit; a caller that leaves the
  // time to another rank gives 0.
  [[nodiscard]] std::optional<RunEnd> reason(double elapsed = 0) const;
  [[nodiscard]] const Improvement& improvement() const { return improvement_; }
  // "the accuracy of dev did not improve in 3 evaluations in a row (--patience 3)"
  [[nodiscard]] std::string explain(RunEnd end) const;

 private:
  [[nodiscard]] bool reached() const;

  EarlyStopOptions options_;
  MainScore metric_;
  Improvement improvement_;
};

// How long a run has trained, by the clock of this process. Counts from its construction, on top of
// what earlier parts of the run took: training, evaluations and checkpoints, without the time
// between two parts.
class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // `most`: 0 for no limit. `before`: seconds of earlier parts. A test gives another `now`.
  TimeLimit(std::chrono::seconds most,
            double before,
            std::function<Clock::time_point()> now = Clock::now)
      : most_(most), before_(before), now_(std::move(now)), begin_(now_()) {}

  [[nodiscard]] double elapsed() const {  // seconds
    return before_ + std::chrono::duration<double>(now_() - begin_).count();
  }
  [[nodiscard]] bool passed() const {
    return most_.count() > 0 && elapsed() >= static_cast<double>(most_.count());
  }

 private:
  std::chrono::seconds most_;
  double before_;
  std::function<Clock::time_point()> now_;
  Clock::time_point begin_;
};

}  // namespace bp::trainer
