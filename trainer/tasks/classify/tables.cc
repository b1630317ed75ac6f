#include "trainer/tasks/classify/tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/confusions.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kNumberWidth = 9;      // as in scikit-learn, without the preceding blank
constexpr std::size_t kLongestInTable = 20;  // longest label in a confusion table
// A terminal has 80 columns, and bprun writes "[12] " before each line.
constexpr std::size_t kWidest = 75;
// The largest number of lines of a table. With its head and sums it then fits a screen.
constexpr std::size_t kMostLines = 20;

// Aligns to the right in `width` code points, as Python's "{:>width}" does.
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

std::vector<std::string> shortened_all(const std::vector<std::string>& labels, std::size_t limit) {
  std::vector<std::string> names;
  for (const std::string& label : labels) {
    names.push_back(shortened(label, limit));
  }
  return names;
}

// The length to which labels are cut, and the gap between columns, from the most readable to the
// narrowest.
struct MatrixShape {
  std::size_t longest = kLongestInTable;
  std::size_t gap = 2;
};
constexpr std::array kMatrixShapes{MatrixShape{20, 2}, MatrixShape{16, 2}, MatrixShape{12, 2},
                                   MatrixShape{8, 2}, MatrixShape{8, 1}};

class Matrix {
 public:
  Matrix(const Tally& tally, const std::vector<std::string>& labels, const MatrixShape& shape)
      : names_(shortened_all(labels, shape.longest)),
        name_width_(code_points(longest({longest(names_), kCorner}))),
        column_(std::max({code_points(longest(names_)), std::to_string(tally.samples()).size(),
                          std::string("sum").size()}) +
                shape.gap) {}

  // Returns whether the matrix fits a line and no two labels are cut to the same text.
  [[nodiscard]] bool fits() const {
    return width() <= kWidest && std::set(names_.begin(), names_.end()).size() == names_.size();
  }

  [[nodiscard]] std::string text(const Tally& tally) const {
    std::string out = padded(kCorner, name_width_);
    for (const std::string& name : names_) {
      out += padded(name, column_);
    }
    out += padded("sum", column_) + '\n';
    std::vector<std::int64_t> column_sums(names_.size());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      std::vector<std::int64_t> counts;
      for (std::size_t j = 0; j < names_.size(); ++j) {
        counts.push_back(
            tally.count({.label = static_cast<int>(i), .prediction = static_cast<int>(j)}));
        column_sums[j] += counts.back();
      }
      out += matrix_line(names_[i], counts);
    }
    return out + matrix_line("sum", column_sums);
  }

 private:
  static constexpr const char* kCorner = "true \\ predicted";

  [[nodiscard]] std::size_t width() const { return name_width_ + (names_.size() + 1) * column_; }

  [[nodiscard]] std::string matrix_line(const std::string& name,
                                        const std::vector<std::int64_t>& counts) const {
    std::string out = padded(name, name_width_);
    for (const std::int64_t count : counts) {
      out += padded(std::to_string(count), column_);
    }
    const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    return out + padded(std::to_string(sum), column_) + '\n';
  }

  std::vector<std::string> names_;
  std::size_t name_width_;
  std::size_t column_;
};

// The lines of a classification report.
class ScoreRows {
 public:
  ScoreRows(const std::vector<std::string>& labels, int digits)
      : labels_(labels),
        width_(code_points(longest({longest(labels), kLongestMean}))),
        digits_(digits) {}

  [[nodiscard]] std::string row(const std::string& name, const ClassScores& of) const {
    return line({name,
                 {fixed(of.precision, digits_), fixed(of.recall, digits_), fixed(of.f1, digits_),
                  std::to_string(of.support)}},
                width_);
  }

  [[nodiscard]] std::string accuracy(const Scores& scores) const {
    const std::string accuracy = fixed(scores.accuracy, digits_);
    return line({"accuracy", {"", "", accuracy, std::to_string(scores.samples)}}, width_);
  }

  // Returns the head and the rows of the classes.
  [[nodiscard]] std::string of_classes(const std::vector<ClassScores>& classes) const {
    std::string out = line({"", {"precision", "recall", "f1-score", "support"}}, width_) + '\n';
    const std::vector<int> shown = lowest_scores(classes, kMostLines);
    for (const int k : shown) {
      out += row(labels_.at(static_cast<std::size_t>(k)), classes[static_cast<std::size_t>(k)]);
    }
    if (shown.size() < classes.size()) {
      out += concat("(the ", shown.size(), " of ",
                    with_commas(static_cast<std::int64_t>(classes.size())),
                    " labels with the lowest f1-score)\n");
    }
    return out;
  }

 private:
  static constexpr const char* kLongestMean = "weighted avg";

  const std::vector<std::string>& labels_;
  std::size_t width_;
  int digits_;
};

// Lists confusions, for more labels than fit a line.
std::string confusion_list(const Tally& tally, const std::vector<std::string>& names) {
  const std::vector<Confusion> all = confusions_of(tally);
  if (all.empty()) {
    return "no label was confused with another\n";
  }
  const std::size_t shown = std::min(all.size(), kMostLines);
  const auto row = [](const std::string& label, const std::string& prediction,
                      const std::string& count, const std::string& share) {
    return concat(padded(label, kLongestInTable), "  ", padded(prediction, kLongestInTable),
                  padded(count, kNumberWidth), padded(share, kNumberWidth), '\n');
  };
  std::string out = row("true", "predicted", "samples", "of true");
  for (std::size_t i = 0; i < shown; ++i) {
    const Confusion& one = all[i];
    out += row(names.at(static_cast<std::size_t>(one.label)),
               names.at(static_cast<std::size_t>(one.prediction)), with_commas(one.count),
               fixed(100 * one.share, 1) + '%');
  }
  if (shown < all.size()) {
    out += concat("and ", with_commas(static_cast<std::int64_t>(all.size() - shown)),
                  " less frequent confusions\n");
  }
  return out;
}

}  // namespace

std::string classification_table(const Scores& scores,
                                 const std::vector<std::string>& labels,
                                 int digits) {
  const ScoreRows rows(labels, digits);
  if (scores.several) {
    return concat(rows.of_classes(scores.classes), '\n', rows.row("micro avg", scores.micro),
                  rows.row("macro avg", scores.macro), rows.row("weighted avg", scores.weighted),
                  rows.row("samples avg", scores.of_samples));
  }
  const bool all_count = scores.counted == scores.classes.size();
  return concat(rows.of_classes(scores.classes), '\n', rows.accuracy(scores),
                rows.row("macro avg", scores.macro),
                all_count ? "" : rows.row("of all", scores.macro_of_all),
                rows.row("weighted avg", scores.weighted));
}

std::string score_line(const std::string& name, const Scores& scores) {
  if (scores.several) {
    return concat(name, ": F1 ", fixed(scores.micro.f1, 4), " (micro), ", fixed(scores.macro.f1, 4),
                  " (macro), all labels right ", fixed(scores.subset_accuracy, 4), ", loss ",
                  fixed(scores.loss, 4), ", ", with_commas(scores.samples), " samples");
  }
  const bool all_count = scores.counted == scores.classes.size();
  const std::string of =
      all_count ? "" : concat(scores.counted, " of ", scores.classes.size(), " ");
  return concat(name, ": accuracy ", fixed(scores.accuracy, 4), ", F1 ", fixed(scores.macro.f1, 4),
                " (mean of ", of, "classes), loss ", fixed(scores.loss, 4), ", ",
                with_commas(scores.samples), " samples");
}

std::string probability_line(const Scores& scores, const ProbabilityScores& given) {
  constexpr int kPlaces = 4;
  std::string line =
      concat("MCC ", fixed(scores.mcc, kPlaces), ", kappa ", fixed(scores.kappa, kPlaces));
  for (const auto& [k, share] : given.top) {
    line += concat(", top ", k, ' ', fixed(share, kPlaces));
  }
  if (std::isfinite(given.roc_auc)) line += ", ROC AUC " + fixed(given.roc_auc, kPlaces);
  return concat(line, ", Brier ", fixed(given.brier, kPlaces), ", ECE ", fixed(given.ece, kPlaces));
}

std::string confusion_table(const Tally& tally, const std::vector<std::string>& labels) {
  for (const MatrixShape& shape : kMatrixShapes) {
    const Matrix matrix(tally, labels, shape);
    if (matrix.fits()) {
      return matrix.text(tally);
    }
  }
  return confusion_list(tally, shortened_all(labels, kLongestInTable));
}

}  // namespace bp::trainer
