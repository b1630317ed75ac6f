#include "trainer/tasks/gap/gap_scores.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/refuse.h"
#include "base/report/escape.h"
#include "base/report/report_table.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

constexpr int kAnswers = 3;

// 0 if there is nothing to divide by.
double share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

double percent(std::int64_t part, std::int64_t whole) {
  return share(100.0 * static_cast<double>(part), static_cast<double>(whole));
}

double loss_of(double probability) {
  constexpr double kBound = 1e-15;
  return -std::log(std::max(std::min(probability, 1 - kBound), kBound));
}

std::string scores_text(const char* name, const GapDecisions& decisions) {
  return concat(name, " recall: ", fixed(decisions.recall(), 1),
                " precision: ", fixed(decisions.precision(), 1), " f1: ", fixed(decisions.f1(), 1),
                "\n\t\ttp ", decisions.true_positives, "\tfp ", decisions.false_positives,
                "\n\t\tfn ", decisions.false_negatives, "\ttn ", decisions.true_negatives, '\n');
}

}  // namespace

double GapDecisions::recall() const {
  return percent(true_positives, true_positives + false_negatives);
}

double GapDecisions::precision() const {
  return percent(true_positives, true_positives + false_positives);
}

double GapDecisions::f1() const {
  return share(2 * precision() * recall(), precision() + recall());
}

GapTally::GapTally() : values_(kLoss + ExactSum::kSize) {}

void GapTally::add(const Result& result) {
  if (result.label < 0 || result.label >= kAnswers) {
    refuse(
        concat("label ", result.label, " of a row of GAP: labels are 0 (neither), 1 (A), 2 (B)"));
  }
  const auto& p = result.probabilities;
  const auto answer = static_cast<int>(std::ranges::max_element(p) - p.begin());
  const std::size_t own = static_cast<std::size_t>(result.gender) * kDecisions;
  for (const int name : {1, 2}) {
    const bool gold = result.label == name;
    const bool found = answer == name;
    ++values_[own + (found ? (gold ? 0U : 1U) : (gold ? 2U : 3U))];
  }
  values_[kRight] += answer == result.label ? 1 : 0;
  ++values_[kRows];
  ExactSum(std::span(values_).subspan<kLoss, ExactSum::kSize>())
      .add(loss_of(p.at(static_cast<std::size_t>(result.label))));
}

std::int64_t GapTally::rows() const { return values_[kRows]; }

double GapTally::accuracy() const {
  return share(static_cast<double>(values_[kRight]), static_cast<double>(rows()));
}

double GapTally::log_loss() const {
  return share(ExactSum::value_of(std::span(values_).subspan<kLoss, ExactSum::kSize>()),
               static_cast<double>(rows()));
}

GapDecisions GapTally::of(Gender gender) const {
  const auto own = std::span(values_).subspan(static_cast<std::size_t>(gender) * kDecisions);
  return {own[0], own[1], own[2], own[3]};
}

GapDecisions GapTally::overall() const {
  GapDecisions sum;
  for (const Gender gender : {Gender::unknown, Gender::masculine, Gender::feminine}) {
    const GapDecisions own = of(gender);
    sum.true_positives += own.true_positives;
    sum.false_positives += own.false_positives;
    sum.false_negatives += own.false_negatives;
    sum.true_negatives += own.true_negatives;
  }
  return sum;
}

double GapTally::bias() const {
  const double masculine = of(Gender::masculine).f1();
  const double feminine = of(Gender::feminine).f1();
  if (masculine == 0 || feminine == 0) return std::numeric_limits<double>::quiet_NaN();
  return feminine / masculine;
}

std::string gap_scorecard(const GapTally& tally) {
  const double bias = tally.bias();
  return concat(scores_text("Overall", tally.overall()),
                scores_text("Masculine", tally.of(Gender::masculine)),
                scores_text("Feminine", tally.of(Gender::feminine)),
                "Bias (F/M): ", std::isnan(bias) ? "-" : fixed(bias, 2), '\n');
}

std::string kaggle_header() { return "ID,A,B,NEITHER\n"; }

std::string kaggle_line(std::string_view id, const GapProbabilities& probabilities) {
  const auto& [neither, a, b] = probabilities;
  char text[128];
  std::snprintf(text, sizeof text, ",%.9g,%.9g,%.9g\n", a, b, neither);
  return csv_field(id) + text;
}

}  // namespace bp::trainer
