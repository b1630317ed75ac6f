#include "trainer/tasks/classify/tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "base/report/escape.h"
#include "base/report/report_table.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/tasks/classify/confusions.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kLongestInTable = 20;  // longest label in a confusion table
// A terminal has 80 columns, and bprun writes "[12] " before each line.
constexpr std::size_t kWidest = 75;
// The largest number of lines of a table. With its head and sums it then fits a screen.
constexpr std::size_t kMostLines = 20;

std::vector<std::string> shortened_all(const std::vector<std::string>& labels, std::size_t limit) {
  std::vector<std::string> names;
  for (const std::string& label : labels) names.push_back(shortened(one_line(label), limit));
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

// All columns of numbers are as wide as the widest.
Table matrix_of(const Tally& tally, const std::vector<std::string>& names) {
  std::size_t width = std::max<std::size_t>(std::to_string(tally.samples()).size(), 3);
  for (const std::string& name : names) width = std::max(width, code_points(name));
  Table table{.columns = {{"true \\ predicted"}}};
  for (const std::string& name : names) table.columns.push_back({.name = name, .width = width});
  table.columns.push_back({.name = "sum", .width = width});
  std::vector<std::int64_t> column_sums(names.size());
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& counts) {
    std::vector<std::string> row = {name};
    for (const std::int64_t count : counts) row.push_back(std::to_string(count));
    row.push_back(std::to_string(std::accumulate(counts.begin(), counts.end(), std::int64_t{0})));
    table.add(std::move(row));
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::int64_t> counts;
    for (std::size_t j = 0; j < names.size(); ++j) {
      counts.push_back(
          tally.count({.label = static_cast<int>(i), .prediction = static_cast<int>(j)}));
      column_sums[j] += counts.back();
    }
    add(names[i], counts);
  }
  add("sum", column_sums);
  return table;
}

// A classification report as scikit-learn prints it.
class ScoreTable {
 public:
  explicit ScoreTable(int digits) : digits_(digits) {
    table_.columns = {{}};
    for (const char* name : {"precision", "recall", "f1-score", "support"}) {
      table_.columns.push_back({.name = name, .width = 9});
    }
  }

  void add(const std::string& name,
           const ClassScores& of,
           Table::Row::Kind kind = Table::Row::Kind::foot) {
    table_.add({name, fixed(of.precision, digits_), fixed(of.recall, digits_),
                fixed(of.f1, digits_), std::to_string(of.support)},
               kind);
  }

  void add_accuracy(const Scores& scores) {
    table_.add(
        {"accuracy", "", "", fixed(scores.accuracy, digits_), std::to_string(scores.samples)},
        Table::Row::Kind::foot);
  }

  void add_classes(const std::vector<ClassScores>& classes,
                   const std::vector<std::string>& labels) {
    const std::vector<int> shown = lowest_scores(classes, kMostLines);
    for (const int k : shown) {
      const auto place = static_cast<std::size_t>(k);
      add(labels.at(place), classes[place], Table::Row::Kind::body);
    }
    if (shown.size() == classes.size()) return;
    table_.add({concat("(the ", shown.size(), " of ",
                       with_commas(static_cast<std::int64_t>(classes.size())),
                       " labels with the lowest f1-score)")},
               Table::Row::Kind::heading);
  }

  [[nodiscard]] std::string text() const {
    return terminal_text(table_, {.gap = 1, .scikit = true});
  }

 private:
  int digits_;
  Table table_;
};

// Lists confusions, for more labels than fit a line.
std::string confusion_list(const Tally& tally, const std::vector<std::string>& names) {
  const std::vector<Confusion> all = confusions_of(tally);
  if (all.empty()) return "no label was confused with another\n";
  Table table{.columns = {{.name = "true", .width = kLongestInTable},
                          {.name = "predicted", .width = kLongestInTable},
                          {.name = "samples"},
                          {.name = "of true"}}};
  const std::size_t shown = std::min(all.size(), kMostLines);
  for (std::size_t i = 0; i < shown; ++i) {
    const Confusion& one = all[i];
    table.add({names.at(static_cast<std::size_t>(one.label)),
               names.at(static_cast<std::size_t>(one.prediction)), with_commas(one.count),
               fixed(100 * one.share, 1) + '%'});
  }
  if (shown < all.size()) {
    table.add({concat("and ", with_commas(static_cast<std::int64_t>(all.size() - shown)),
                      " less frequent confusions")},
              Table::Row::Kind::heading);
  }
  return terminal_text(table, {.right = true});
}

}  // namespace

std::string classification_table(const Scores& scores,
                                 const std::vector<std::string>& labels,
                                 int digits) {
  ScoreTable table(digits);
  table.add_classes(scores.classes, labels);
  if (scores.several) {
    table.add("micro avg", scores.micro);
  } else {
    table.add_accuracy(scores);
  }
  table.add("macro avg", scores.macro);
  if (!scores.several && scores.counted < scores.classes.size()) {
    table.add("of all", scores.macro_of_all);
  }
  table.add("weighted avg", scores.weighted);
  if (scores.several) table.add("samples avg", scores.of_samples);
  return table.text();
}

std::string score_line(const std::string& name, const Scores& scores) {
  if (scores.several) {
    return concat(name, ": F1 ", fixed(scores.micro.f1, 4), " (micro), ", fixed(scores.macro.f1, 4),
                  " (macro), all labels right ", fixed(scores.subset_accuracy, 4), ", loss ",
                  fixed(scores.loss, 4), ", ", with_commas(scores.samples), " ", scores.rows_are);
  }
  const bool all_count = scores.counted == scores.classes.size();
  const std::string of =
      all_count ? "" : concat(scores.counted, " of ", scores.classes.size(), " ");
  return concat(name, ": accuracy ", fixed(scores.accuracy, 4), ", F1 ", fixed(scores.macro.f1, 4),
                " (mean of ", of, "classes), loss ", fixed(scores.loss, 4), ", ",
                with_commas(scores.samples), " ", scores.rows_are);
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
    const std::vector<std::string> names = shortened_all(labels, shape.longest);
    if (std::set(names.begin(), names.end()).size() < names.size()) continue;
    const std::string text =
        terminal_text(matrix_of(tally, names), {.gap = shape.gap, .right = true});
    if (code_points(text.substr(0, text.find('\n'))) <= kWidest) return text;
  }
  return confusion_list(tally, shortened_all(labels, kLongestInTable));
}

}  // namespace bp::trainer
