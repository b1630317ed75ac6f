// The notations in which a trial reports its metric. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

// Parses "bp: metric VALUE STEP" or "bp: metric VALUE" (step `next_step`), as any program may print
// it on stdout. bprun's prefix "[0] " may precede it. Lines of other ranks and other lines yield
// nothing; so does a value that is not a finite number.
[[nodiscard]] std::optional<Report> parse_metric_line(std::string_view line,
                                                      std::int64_t next_step);

// Parses a line of bert_train's metrics.jsonl. `metric` is dev_accuracy, dev_loss or any other
// number of an evaluation with the split's name before it, or train_loss for the loss of the
// training steps.
[[nodiscard]] std::optional<Report> parse_metrics_json(std::string_view line,
                                                       std::string_view metric);

}  // namespace bp::launcher::sweep
