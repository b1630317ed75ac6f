// The results of a scored split on the terminal.
#pragma once

#include <optional>
#include <string>

#include "trainer/data/sample_store.h"
#include "trainer/tasks/task.h"

namespace bp::trainer {

// Returns the split that rates a finished model: test, or dev if there is no test.
[[nodiscard]] std::optional<Split> judged_split(const SampleStore& store);

// Returns the split that `--on name` chooses; for an empty name the one that is judged, or train.
// Throws InputError: 2 for another name, 65 if the split is empty.
[[nodiscard]] Split chosen_split(const std::string& name, const SampleStore& store);

// Throws InputError (2) unless `option file` can be written, so that the error comes before hours
// of work and not after them. An empty name means no file.
void require_writable(const std::string& file, const std::string& option = "--out");

// Writes to stdout, with a line feed.
void print_line(const std::string& text);
// Prints the task's lines. See Scorer::lines().
void print_results(const Scorer& scorer, const std::string& name, const std::string& predictions);

}  // namespace bp::trainer
