// What a trial had reached after a certain amount of training.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "launcher/sweep/space/metric.h"
#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

// Returns how much the trial has trained: the number of its reports, or its last step.
[[nodiscard]] std::int64_t trained(const TrialHistory& trial, StopSpec::Unit unit);

// The same without its last report.
[[nodiscard]] std::int64_t trained_before(const TrialHistory& trial, StopSpec::Unit unit);

// Returns the trial's best value when it had trained `amount`; nullopt if it has not. With steps,
// that is up to the first report at or after step `amount`.
[[nodiscard]] std::optional<double> best_at(const TrialHistory& trial,
                                            std::int64_t amount,
                                            StopSpec::Unit unit,
                                            Direction direction);

}  // namespace bp::launcher::sweep
