#include "trainer/tasks/classify/sections.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_section.h"
#include "trainer/tasks/classify/confusions.h"

namespace bp::trainer {
namespace {

constexpr int kDigits = 3;
constexpr int kPercent = 100;

std::string label_at(const ClassDetail& detail, int index) {
  return label_html(detail.labels, index);
}

std::string matrix_cell(std::int64_t count, double share, bool right) {
  // The square root makes even the few mistakes of a good model visible.
  const double shade = right ? share : std::sqrt(share);
  return concat("<td class=\"", right ? "right" : "wrong",
                "\" style=\"--share:", fixed(shade, kDigits), "\">", with_commas(count), "<small>",
                fixed(kPercent * share, 1), "%</small></td>");
}

struct MatrixRow {
  std::string name;
  std::size_t place = 0;   // index among the labels; `labels` for the row of all others together
  std::size_t labels = 0;  // number of labels with a row of their own
  bool dense = false;      // there are many columns, so zeros are left out
};

std::string matrix_row(const MatrixRow& row, const std::vector<std::int64_t>& counts) {
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::string cells;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    // The cell counts right and wrong predictions.
    const bool mixed = k == row.place && k == row.labels;
    if (row.dense && (mixed || counts[k] == 0)) {
      cells += concat("<td class=\"sum\">", counts[k] == 0 ? "" : with_commas(counts[k]), "</td>");
      continue;
    }
    const double share = sum == 0 ? 0 : static_cast<double>(counts[k]) / static_cast<double>(sum);
    cells += matrix_cell(counts[k], share, k == row.place);
  }
  return concat("<tr><th scope=\"row\">", row.name, "</th>", cells, "<td class=\"sum\">",
                with_commas(sum), "</td></tr>\n");
}

}  // namespace

std::string confusion_section(const ClassDetail& detail, const Tally& tally) {
  const auto classes = static_cast<std::size_t>(tally.classes());
  const std::vector<int> shown = most_confused(tally, kMostInMatrix);
  std::vector<std::vector<std::int64_t>> matrix = grouped_matrix(tally, shown);
  std::vector<std::string> names;
  for (const int k : shown) {
    names.push_back(label_at(detail, k));
  }
  std::string note;
  if (shown.size() < classes) {
    names.push_back(
        concat(with_commas(static_cast<std::int64_t>(classes - shown.size())), " others"));
    note = concat(" ", shown.size(), " of ", with_commas(static_cast<std::int64_t>(classes)),
                  " labels: those that were confused most. All: confusion.csv.");
  } else {
    matrix.pop_back();
    for (std::vector<std::int64_t>& row : matrix) row.pop_back();
  }
  constexpr std::size_t kFewColumns = 6;
  const bool dense = names.size() > kFewColumns;
  std::string head;
  std::string rows;
  for (std::size_t i = 0; i < names.size(); ++i) {
    head += concat("<th scope=\"col\"><span>", names[i], "</span></th>");
    rows += matrix_row({names[i], i, shown.size(), dense}, matrix[i]);
  }
  return concat("<section class=\"card", dense ? " wide" : "", "\"><h2>Confusion matrix, ",
                html(detail.split),
                " split</h2>\n<p class=\"quiet\">Rows: what is true. Columns: what was predicted. "
                "Shares are of the row.",
                note, "</p>\n<div class=\"scroll\" tabindex=\"0\"><table class=\"matrix",
                dense ? " dense" : "", "\"><thead><tr><th></th>", head,
                "<th scope=\"col\"><span>sum</span></th></tr></thead>\n<tbody>\n", rows,
                "</tbody></table></div></section>\n");
}

// Shows what a matrix of many labels hides. A matrix of few labels shows this itself.
std::string confusions_section(const ClassDetail& detail, const Tally& tally) {
  constexpr std::size_t kFew = 6;
  if (tally.classes() <= static_cast<int>(kFew)) {
    return "";
  }
  const std::vector<Confusion> all = confusions_of(tally);
  if (all.empty()) {
    return "";
  }
  const std::size_t shown = std::min(all.size(), kMostInMatrix);
  std::string rows;
  for (std::size_t i = 0; i < shown; ++i) {
    rows +=
        concat("<tr><th scope=\"row\">", label_at(detail, all[i].label), "</th><td class=\"text\">",
               label_at(detail, all[i].prediction), "</td><td>", with_commas(all[i].count),
               "</td><td>", fixed(kPercent * all[i].share, 1), "%</td></tr>\n");
  }
  const std::string rest = shown == all.size()
                               ? ""
                               : concat("<p class=\"quiet\">And ",
                                        with_commas(static_cast<std::int64_t>(all.size() - shown)),
                                        " less frequent ones: confusion.csv.</p>");
  return concat("<section class=\"card\"><h2>Most frequent confusions, ", html(detail.split),
                " split</h2>\n<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>"
                "<th scope=\"col\">true</th><th scope=\"col\" class=\"text\">predicted</th>"
                "<th scope=\"col\">samples</th><th scope=\"col\">of true</th></tr></thead>\n"
                "<tbody>\n",
                rows, "</tbody></table></div>", rest, "</section>\n");
}

std::string classes_section(const ClassDetail& detail) {
  const Scores& scores = detail.scores;
  std::vector<std::pair<std::string, ClassScores>> means{{"mean", scores.macro},
                                                         {"weighted mean", scores.weighted}};
  if (scores.several) {
    means.insert(means.begin(), {"all answers together", scores.micro});
    means.emplace_back("mean of samples", scores.of_samples);
  } else if (scores.counted < scores.classes.size()) {
    means.front().first = "mean of those that occur or are predicted";
    means.insert(means.begin() + 1, {"mean of all", scores.macro_of_all});
  }
  return class_section({concat(scores.several ? "Labels, " : "Classes, ", detail.split, " split"),
                        detail.labels, scores.classes, std::move(means)});
}

std::string class_sections(const ClassDetail& detail, const Tally* tally) {
  const std::string errors = error_section(detail.errors);
  if (tally == nullptr) return classes_section(detail) + errors;
  return concat("<div class=\"pair\">\n", confusion_section(detail, *tally),
                confusions_section(detail, *tally), classes_section(detail), "</div>\n", errors);
}

}  // namespace bp::trainer
