#include "trainer/tasks/classify/analysis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/confusions.h"
#include "trainer/tasks/classify/probability_scores.h"
#include "trainer/tasks/classify/sections.h"

namespace bp::trainer {
namespace {

constexpr int kHundred = 100;

struct Group {
  std::string name = {};
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

void add_group(Table& table, const Group& group) {
  const Interval interval = wilson_interval(group.right, group.samples);
  const double share = static_cast<double>(group.right) / static_cast<double>(group.samples);
  table.add({group.name, share_text(share),
             concat(share_text(interval.low), " to ", share_text(interval.high)),
             with_commas(group.samples)});
}

void add_groups(Table& table, const std::string& heading, const std::vector<Group>& groups) {
  if (!groups.empty()) table.add({heading}, Table::Row::Kind::heading);
  for (const Group& group : groups) {
    if (group.samples > 0) add_group(table, group);
  }
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
    groups.push_back({.name = label_name(analysed.labels, static_cast<int>(k))});
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

Section accuracy_section(const AnalysedSplit& analysed) {
  Section section{.title = concat("Accuracy, ", analysed.split, " split"),
                  .note = "With Wilson's 95 % confidence intervals.",
                  .table = table_of({"", "accuracy", "interval", "samples"}),
                  .half = true};
  const Group all = all_of(analysed);
  if (all.samples == 0) return section;
  add_group(section.table, all);
  add_groups(section.table, "by label", by_label(analysed));
  add_groups(section.table, "by length", by_length(analysed));
  return section;
}

Section calibration_section(const AnalysedSplit& analysed) {
  const Calibration bins = calibration_of(analysed.given);
  Series own{.name = "accuracy", .look = Series::Look::dots};
  for (const CalibrationBin& bin : bins) {
    if (bin.samples == 0) continue;
    const auto samples = static_cast<double>(bin.samples);
    own.x.push_back(bin.confidence / samples);
    own.y.push_back(static_cast<double>(bin.right) / samples);
  }
  Section section{.title = concat("Calibration, ", analysed.split, " split"),
                  .note = concat("How often the most probable label is right, by its probability. "
                                 "Expected calibration error: ",
                                 fixed(expected_calibration_error(bins), 4), "."),
                  .half = true};
  if (own.x.size() == 1) {
    section.remark = concat("All probabilities of the predicted labels are near ",
                            brief(own.x.front(), 2), ", so there is no curve.");
  }
  if (own.x.size() < 2) return section;
  const Series ideal{
      .name = "calibrated", .x = {own.x.front(), own.x.back()}, .y = {own.x.front(), own.x.back()}};
  section.charts = {{.title = "accuracy by the probability of the predicted label",
                     .x_name = "probability",
                     .series = {own, ideal}}};
  return section;
}

Sections curves_section(const AnalysedSplit& analysed) {
  if (analysed.given.classes != 2) return {};
  const std::vector<RankedSample> ranked = ranked_samples(analysed.given, 1);
  const RankCurves curves = rank_curves(ranked);
  if (curves.roc.empty()) return {};
  const auto card = [&](const std::string& heading, const std::string& x, const Series& series) {
    return Section{.title = concat(heading, " of ", label_name(analysed.labels, 1), ", ",
                                   analysed.split, " split"),
                   .charts = {{.title = heading, .x_name = x, .series = {series}}},
                   .half = true};
  };
  return {card(concat("ROC curve (area ", fixed(roc_auc(ranked), 4), ')'), "false positive rate",
               curve_of("true positive rate", curves.roc)),
          card("Precision by recall", "recall", curve_of("precision", curves.precision))};
}

Sections analysis_sections(const AnalysedSplit& analysed) {
  return joined(
      {{accuracy_section(analysed), calibration_section(analysed)}, curves_section(analysed)});
}

Section label_counts_section(const std::vector<std::string>& labels,
                             const std::vector<LabelCounts>& splits) {
  Section section{.title = "Labels of the data", .table = table_of({"label"})};
  if (labels.size() > kMostInTable || splits.empty()) return section;
  for (const LabelCounts& split : splits) section.table.columns.push_back({split.split});
  for (std::size_t k = 0; k < labels.size(); ++k) {
    std::vector<Cell>& cells = section.table.rows.emplace_back().cells;
    cells.push_back({.text = label_name(labels, static_cast<int>(k))});
    for (const LabelCounts& split : splits) {
      const std::int64_t all =
          std::accumulate(split.counts.begin(), split.counts.end(), std::int64_t{0});
      cells.push_back(
          {.text = with_commas(split.counts[k]), .note = percent_text(split.counts[k], all)});
    }
  }
  return section;
}

}  // namespace bp::trainer
