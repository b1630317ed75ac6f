#include "trainer/report/tables.h"

#include <algorithm>

#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kNumberWidth = 9;      // scikit-learn's, without the blank before it
constexpr std::size_t kLongestInTable = 20;  // in a confusion table

// Right-aligned to `width` code points, as Python's "{:>width}".
std::string padded(const std::string& text, std::size_t width) {
  const std::size_t length = code_points(text);
  return std::string(width > length ? width - length : 0, ' ') + text;
}

struct Row {
  std::string name;
  std::vector<std::string> cells;
};

std::string line(const Row& row, std::size_t name_width) {
  std::string out = padded(row.name, name_width) + ' ';
  for (const std::string& cell : row.cells) {
    out += ' ' + padded(cell, kNumberWidth);
  }
  return out + '\n';
}

std::string longest(const std::vector<std::string>& names) {
  return names.empty()
             ? ""
             : *std::max_element(names.begin(), names.end(), [](const auto& a, const auto& b) {
                 return code_points(a) < code_points(b);
               });
}

}  // namespace

std::string classification_table(const Scores& scores,
                                 const std::vector<std::string>& labels,
                                 int digits) {
  const std::size_t width = code_points(longest({longest(labels), "weighted avg"}));
  const auto row = [&](const std::string& name, const ClassScores& of) {
    return line({name,
                 {fixed(of.precision, digits), fixed(of.recall, digits), fixed(of.f1, digits),
                  std::to_string(of.support)}},
                width);
  };
  std::string out = line({"", {"precision", "recall", "f1-score", "support"}}, width) + '\n';
  for (std::size_t k = 0; k < scores.classes.size(); ++k) {
    out += row(labels.at(k), scores.classes[k]);
  }
  out += '\n';
  out +=
      line({"accuracy", {"", "", fixed(scores.accuracy, digits), std::to_string(scores.samples)}},
           width);
  out += row("macro avg", scores.macro);
  out += row("weighted avg", scores.weighted);
  return out;
}

std::string confusion_table(const Tally& tally, const std::vector<std::string>& labels) {
  std::vector<std::string> names;
  for (const std::string& label : labels) {
    names.push_back(shortened(label, kLongestInTable));
  }
  const std::string corner = "true \\ predicted";
  const std::size_t name_width = code_points(longest({longest(names), corner}));
  const std::size_t width =
      std::max(code_points(longest(names)), std::to_string(tally.samples()).size()) + 2;

  std::string out = padded(corner, name_width);
  for (const std::string& name : names) {
    out += padded(name, width);
  }
  out += padded("sum", width) + '\n';
  std::vector<std::int64_t> column_sums(names.size() + 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += padded(names[i], name_width);
    std::int64_t row_sum = 0;
    for (std::size_t j = 0; j < names.size(); ++j) {
      const std::int64_t n =
          tally.count({.label = static_cast<int>(i), .prediction = static_cast<int>(j)});
      out += padded(std::to_string(n), width);
      row_sum += n;
      column_sums[j] += n;
    }
    column_sums.back() += row_sum;
    out += padded(std::to_string(row_sum), width) + '\n';
  }
  out += padded("sum", name_width);
  for (const std::int64_t sum : column_sums) {
    out += padded(std::to_string(sum), width);
  }
  return out + '\n';
}

}  // namespace bp::trainer
