// The rows that a model got most wrong, with their texts: a section of report.html, and lines for a
// terminal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/report/section.h"

namespace bp::trainer {

// How many rows a task names, and how many of them show without a click, and on a terminal.
inline constexpr std::size_t kMostErrorRows = 20;
inline constexpr std::size_t kOpenErrorRows = 5;

struct ErrorRow {
  std::string text = {};        // of the source; empty if it is not known
  std::string answer = {};      // what is true: "positive"; empty: none of the labels
  std::string prediction = {};  // the same of the model
  std::string facts = {};       // "probability of the true label 0.0031, loss 5.78"; may be empty
  std::int64_t text_id = 0;
  std::int64_t sample_id = 0;
};

struct ErrorRows {
  std::string split = {};           // "test"
  std::string order = {};           // what the worst one has: "the highest loss"
  std::vector<ErrorRow> rows = {};  // the worst first
};

// Returns the kMostErrorRows items with the highest badness(item); of equal ones, the first.
template <class Item, class Badness>
[[nodiscard]] std::vector<Item> worst_of(std::vector<Item> items, const Badness& badness) {
  std::ranges::stable_sort(items, std::ranges::greater{}, badness);
  items.resize(std::min(items.size(), kMostErrorRows));
  return items;
}

// The rows behind the first ones are folded. It is left out without rows.
[[nodiscard]] Section error_section(const ErrorRows& errors);

// Returns the first rows, each as one line and the beginning of its text as a second one; empty
// without rows.
[[nodiscard]] std::string error_lines(const ErrorRows& errors);

}  // namespace bp::trainer
