// Reports a sweep's metric on stdout. bprun sweep reads it from metrics.jsonl, too, but not from a
// host whose files it does not see.
#pragma once

#include <string>
#include <string_view>

namespace bp::trainer {

// `metric`: "dev_accuracy", which bprun sweep puts into BP_SWEEP_METRIC. `record`: a line of
// metrics.jsonl. Returns "bp: metric VALUE STEP" with a line feed, or "" if the record does not
// have the metric.
[[nodiscard]] std::string sweep_metric_line(std::string_view metric, const std::string& record);

// Returns the score of dev that the sweep of this process compares, "accuracy" of dev_accuracy; ""
// outside a sweep, and if its metric is none of dev.
[[nodiscard]] std::string dev_score_of_sweep();

// Returns whether a sweep has started this process and compares a metric.
[[nodiscard]] bool is_in_sweep();

// Prints that line for the metric of the environment. Only if is_in_sweep().
void tell_sweep(const std::string& record);

}  // namespace bp::trainer
