#include "trainer/tasks/classify/analysis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/chart.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_section.h"
#include "trainer/tasks/classify/confusions.h"
#include "trainer/tasks/classify/rank_area.h"
#include "trainer/tasks/classify/wilson.h"

namespace bp::trainer {
namespace {

constexpr int kHundred = 100;

struct Group {
  std::string name = {};  // as HTML
  std::int64_t samples = 0;
  std::int64_t right = 0;

  void add(bool is_right) {
    ++samples;
    right += is_right ? 1 : 0;
  }
};

bool is_right(const AnalysedSplit& analysed, std::size_t sample) {
  const auto shares = analysed.given.of(sample);
  return std::ranges::max_element(shares) - shares.begin() == analysed.given.labels[sample];
}

std::string share_text(double share) { return fixed(kHundred * share, 1) + " %"; }

std::string group_row(const Group& group) {
  const Interval interval = wilson_interval(group.right, group.samples);
  const double share = static_cast<double>(group.right) / static_cast<double>(group.samples);
  return concat("<tr><th scope=\"row\">", group.name, "</th><td>", share_text(share), "</td><td>",
                share_text(interval.low), " to ", share_text(interval.high), "</td><td>",
                with_commas(group.samples), "</td></tr>\n");
}

std::string group_rows(const std::string& heading, const std::vector<Group>& groups) {
  std::string rows;
  for (const Group& group : groups) {
    if (group.samples > 0) rows += group_row(group);
  }
  return rows.empty() ? ""
                      : concat("<tr><th scope=\"rowgroup\" colspan=\"4\" class=\"quiet\">", heading,
                               "</th></tr>\n", rows);
}

Group all_of(const AnalysedSplit& analysed) {
  Group all{.name = "all"};
  for (std::size_t i = 0; i < analysed.given.labels.size(); ++i) {
    if (analysed.given.labels[i] >= 0) all.add(is_right(analysed, i));
  }
  return all;
}

std::vector<Group> by_label(const AnalysedSplit& analysed) {
  std::vector<Group> groups;
  if (analysed.labels.size() > kMostInMatrix) return groups;
  for (std::size_t k = 0; k < analysed.labels.size(); ++k) {
    groups.push_back({.name = label_html(analysed.labels, static_cast<int>(k))});
  }
  for (std::size_t i = 0; i < analysed.given.labels.size(); ++i) {
    const int label = analysed.given.labels[i];
    if (label >= 0) groups[static_cast<std::size_t>(label)].add(is_right(analysed, i));
  }
  return groups;
}

// The lengths up to 8, 16, 32, ... tokens.
std::vector<Group> by_length(const AnalysedSplit& analysed) {
  constexpr int kShortest = 8;
  std::vector<Group> groups;
  for (std::size_t i = 0; i < analysed.lengths.size(); ++i) {
    if (analysed.given.labels[i] < 0) continue;
    std::size_t place = 0;
    for (int end = kShortest; analysed.lengths[i] > end; end *= 2) ++place;
    for (std::size_t k = groups.size(); k <= place; ++k) {
      const int end = kShortest << k;
      groups.push_back({.name = concat(k == 0 ? 1 : end / 2 + 1, " to ", end, " tokens")});
    }
    groups[place].add(is_right(analysed, i));
  }
  return groups;
}

Series curve_of(const std::string& name, const std::vector<CurvePoint>& points) {
  Series series{.name = name};
  constexpr std::size_t kMostPoints = 250;
  const std::size_t every = points.size() / kMostPoints + 1;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i % every != 0 && i + 1 != points.size()) continue;
    series.x.push_back(points[i].x);
    series.y.push_back(points[i].y);
  }
  return series;
}

}  // namespace

std::string accuracy_section(const AnalysedSplit& analysed) {
  const Group all = all_of(analysed);
  if (all.samples == 0) return "";
  return concat("<section class=\"card\"><h2>Accuracy, ", html(analysed.split),
                " split</h2>\n<p class=\"quiet\">With Wilson's 95 % confidence intervals.</p>\n"
                "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\"></th>"
                "<th scope=\"col\">accuracy</th><th scope=\"col\">interval</th>"
                "<th scope=\"col\">samples</th></tr></thead>\n<tbody>\n",
                group_row(all), group_rows("by label", by_label(analysed)),
                group_rows("by length", by_length(analysed)), "</tbody></table></div></section>\n");
}

std::string calibration_section(const AnalysedSplit& analysed) {
  const Calibration bins = calibration_of(analysed.given);
  Series own{.name = "accuracy", .look = Series::Look::dots};
  for (const CalibrationBin& bin : bins) {
    if (bin.samples == 0) continue;
    const auto samples = static_cast<double>(bin.samples);
    own.x.push_back(bin.confidence / samples);
    own.y.push_back(static_cast<double>(bin.right) / samples);
  }
  if (own.x.size() < 2) return "";
  const Series ideal{
      .name = "calibrated", .x = {own.x.front(), own.x.back()}, .y = {own.x.front(), own.x.back()}};
  return concat(
      "<section class=\"card\"><h2>Calibration, ", html(analysed.split),
      " split</h2>\n<p class=\"quiet\">How often the most probable label is right, by its "
      "probability. Expected calibration error: ",
      fixed(expected_calibration_error(bins), 4), ".</p>\n",
      render_chart({.title = "accuracy by the probability of the predicted label",
                    .x_name = "probability",
                    .series = {own, ideal}}),
      "</section>\n");
}

std::string curves_section(const AnalysedSplit& analysed) {
  if (analysed.given.classes != 2) return "";
  const std::vector<RankedSample> ranked = ranked_samples(analysed.given, 1);
  const RankCurves curves = rank_curves(ranked);
  if (curves.roc.empty()) return "";
  const std::string label = label_html(analysed.labels, 1);
  const auto card = [&](const std::string& heading, const std::string& x, const Series& series) {
    return concat("<section class=\"card\"><h2>", heading, " of ", label, ", ",
                  html(analysed.split), " split</h2>\n",
                  render_chart({.title = heading, .x_name = x, .series = {series}}),
                  "</section>\n");
  };
  return card(concat("ROC curve (area ", fixed(roc_auc(ranked), 4), ')'), "false positive rate",
              curve_of("true positive rate", curves.roc)) +
         card("Precision by recall", "recall", curve_of("precision", curves.precision));
}

std::string analysis_sections(const AnalysedSplit& analysed) {
  return concat("<div class=\"pair\">\n", accuracy_section(analysed), calibration_section(analysed),
                curves_section(analysed), "</div>\n");
}

std::string label_counts_section(const std::vector<std::string>& labels,
                                 const std::vector<LabelCounts>& splits) {
  if (labels.size() > kMostInTable || splits.empty()) return "";
  std::string head;
  for (const LabelCounts& split : splits) {
    head += concat("<th scope=\"col\">", html(split.split), "</th>");
  }
  std::string rows;
  for (std::size_t k = 0; k < labels.size(); ++k) {
    rows += concat("<tr><th scope=\"row\">", label_html(labels, static_cast<int>(k)), "</th>");
    for (const LabelCounts& split : splits) {
      std::int64_t all = 0;
      for (const std::int64_t count : split.counts) all += count;
      rows += concat("<td>", with_commas(split.counts[k]), " <small class=\"quiet\">",
                     percent_text(split.counts[k], all), "</small></td>");
    }
    rows += "</tr>\n";
  }
  return concat(
      "<section class=\"card\"><h2>Labels of the data</h2>\n"
      "<div class=\"scroll tall\" tabindex=\"0\"><table><thead><tr>"
      "<th scope=\"col\">label</th>",
      head, "</tr></thead>\n<tbody>\n", rows, "</tbody></table></div></section>\n");
}

}  // namespace bp::trainer
