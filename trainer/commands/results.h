// The results of a scored split on the terminal.
#pragma once

#include <optional>
#include <string>

#include "trainer/data/sample_store.h"
#include "trainer/tasks/task.h"

namespace bp::trainer {

// Returns the split that rates a finished model: test, or dev if there is no test.
[[nodiscard]] std::optional<Split> judged_split(const SampleStore& store);

// Writes to stdout, with a line feed.
void print_line(const std::string& text);
// Prints the task's lines. See Scorer::lines().
void print_results(const Scorer& scorer, const std::string& name, const std::string& predictions);

}  // namespace bp::trainer
