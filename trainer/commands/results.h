// The results of a scored split on the terminal.
#pragma once

#include <cstdint>
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

// Write to stdout what people read: nothing in it controls a terminal. print_line() adds a line
// feed.
void print_text(const std::string& text);
void print_line(const std::string& text);
// Returns how many texts are scored: fewer than samples if long texts of the split are folded into
// several samples, which each have the text's answer.
[[nodiscard]] std::int64_t scored_texts(const SampleStore& store, Split split);

struct ScoredSplit {
  const SampleStore& store;
  Split split = Split::test;
  std::string name = {};  // as the terminal calls it
};
// Prints the task's lines, and what the scores count. See Scorer::lines().
void print_results(const Scorer& scorer, const ScoredSplit& scored, const std::string& predictions);

}  // namespace bp::trainer
