#include "trainer/tasks/classify/sections.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>

#include "base/report/escape.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/tasks/classify/confusions.h"

namespace bp::trainer {
namespace {

std::string percent(double share) { return fixed(100 * share, 1) + '%'; }

constexpr std::size_t kFew = 6;  // labels that need no list of confusions

// `own`: the index of the cell with the right predictions. It is `labels`, the number of labels
// with a row of their own, in the row of all others together; that cell counts wrong ones too.
// `dense`: zeros are left out.
struct MatrixRow {
  std::size_t own = 0;
  std::size_t labels = 0;
  bool dense = false;
};

std::vector<Cell> matrix_cells(const MatrixRow& row, const std::vector<std::int64_t>& counts) {
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<Cell> cells;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const bool mixed = k == row.own && k == row.labels;
    if (row.dense && (mixed || counts[k] == 0)) {
      cells.push_back(
          {.text = counts[k] == 0 ? "" : with_commas(counts[k]), .look = Cell::Look::sum});
      continue;
    }
    const double share = sum == 0 ? 0 : static_cast<double>(counts[k]) / static_cast<double>(sum);
    const bool right = k == row.own;
    // The square root makes even the few mistakes of a good model visible.
    cells.push_back({.text = with_commas(counts[k]),
                     .note = percent(share),
                     .look = right ? Cell::Look::right : Cell::Look::wrong,
                     .share = right ? share : std::sqrt(share)});
  }
  cells.push_back({.text = with_commas(sum), .look = Cell::Look::sum});
  return cells;
}

}  // namespace

std::string label_name(const std::vector<std::string>& labels, int index) {
  constexpr std::size_t kLongest = 24;
  const auto place = static_cast<std::size_t>(index);
  const std::string name = place < labels.size() ? labels[place] : concat('#', index);
  return shortened(repaired_utf8(name), kLongest);
}

Section confusion_section(const ClassDetail& detail, const Tally& tally) {
  const auto classes = static_cast<std::size_t>(tally.classes());
  const std::vector<int> shown = most_confused(tally, kMostInMatrix);
  std::vector<std::vector<std::int64_t>> matrix = grouped_matrix(tally, shown);
  Section section{
      .title = concat("Confusion matrix, ", detail.split, " split"),
      .note = "Rows: what is true. Columns: what was predicted. Shares are of the row."};
  std::vector<std::string> names;
  for (const int k : shown) names.push_back(label_name(detail.labels, k));
  if (shown.size() < classes) {
    names.push_back(
        concat(with_commas(static_cast<std::int64_t>(classes - shown.size())), " others"));
    section.note +=
        concat(" ", shown.size(), " of ", with_commas(static_cast<std::int64_t>(classes)),
               " labels: those that were confused most. All: confusion.csv.");
  } else {
    matrix.pop_back();
    for (std::vector<std::int64_t>& row : matrix) row.pop_back();
  }
  const bool dense = names.size() > kFew;
  section.half = !dense;
  section.table.look = dense ? Table::Look::dense_matrix : Table::Look::matrix;
  section.table.columns = {{}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    section.table.columns.push_back({names[i]});
    std::vector<Cell>& cells = section.table.rows.emplace_back().cells;
    cells = matrix_cells({i, shown.size(), dense}, matrix[i]);
    cells.insert(cells.begin(), {.text = names[i]});
  }
  section.table.columns.push_back({"sum"});
  return section;
}

// Shows what a matrix of many labels hides. A matrix of few labels shows this itself.
Section confusions_section(const ClassDetail& detail, const Tally& tally) {
  Section section{.title = concat("Most frequent confusions, ", detail.split, " split"),
                  .table = {.columns = {{"true"}, {"predicted", true}, {"samples"}, {"of true"}}},
                  .half = true};
  if (tally.classes() <= static_cast<int>(kFew)) return section;
  const std::vector<Confusion> all = confusions_of(tally);
  const std::size_t shown = std::min(all.size(), kMostInMatrix);
  for (std::size_t i = 0; i < shown; ++i) {
    section.table.add({label_name(detail.labels, all[i].label),
                       label_name(detail.labels, all[i].prediction), with_commas(all[i].count),
                       percent(all[i].share)});
  }
  if (shown < all.size()) {
    section.remark = concat("And ", with_commas(static_cast<std::int64_t>(all.size() - shown)),
                            " less frequent ones: confusion.csv.");
  }
  return section;
}

// Of many classes it shows those with the lowest F1.
Section classes_section(const ClassDetail& detail) {
  const Scores& scores = detail.scores;
  Section section{
      .title = concat(scores.several ? "Labels, " : "Classes, ", detail.split, " split"),
      .table = table_of({"label", "precision", "recall", "F1", "samples"}),
      .half = !scores.several};
  const auto add = [&](const std::string& name, const ClassScores& of,
                       Table::Row::Kind kind = Table::Row::Kind::foot) {
    constexpr int kDigits = 3;
    section.table.add({name, fixed(of.precision, kDigits), fixed(of.recall, kDigits),
                       fixed(of.f1, kDigits), with_commas(of.support)},
                      kind);
  };
  const std::vector<int> shown = lowest_scores(scores.classes, kMostInTable);
  for (const int k : shown) {
    add(label_name(detail.labels, k), scores.classes[static_cast<std::size_t>(k)],
        Table::Row::Kind::body);
  }
  const bool all_count = scores.several || scores.counted == scores.classes.size();
  if (scores.several) add("all answers together", scores.micro);
  add(all_count ? "mean" : "mean of those that occur or are predicted", scores.macro);
  if (!all_count) add("mean of all", scores.macro_of_all);
  add("weighted mean", scores.weighted);
  if (scores.several) add("mean of samples", scores.of_samples);
  if (shown.size() < scores.classes.size()) {
    section.note = concat(shown.size(), " of ", with_commas(std::ssize(scores.classes)),
                          " labels: those with the lowest F1. All: classes.csv.");
  }
  return section;
}

Sections class_sections(const ClassDetail& detail, const Tally* tally) {
  Sections sections = {classes_section(detail), error_section(detail.errors)};
  if (tally != nullptr) {
    sections.insert(sections.begin(),
                    {confusion_section(detail, *tally), confusions_section(detail, *tally)});
  }
  return sections;
}

}  // namespace bp::trainer
