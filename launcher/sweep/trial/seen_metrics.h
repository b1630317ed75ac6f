// Finds what a trial reported instead of the metric, so that a message can name it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bp::launcher::sweep {

// Returns the names under which bert_train's metrics.jsonl has the figures of its evaluations and
// train_loss, each once; none if the file cannot be read. Reads the first lines only.
[[nodiscard]] std::vector<std::string> names_in_metrics(const std::string& path);

// Returns the first line of a trial's stdout that looks like a report and is none, such as
// "bp: metric 50%".
[[nodiscard]] std::optional<std::string> refused_report(const std::string& path);

}  // namespace bp::launcher::sweep
