#include "trainer/tasks/classify/probability_scores.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

#include "trainer/tasks/classify/class_scores.h"

namespace bp::trainer {
namespace {

// Returns how many classes are more probable than the true one.
int place_of(std::span<const float> shares, std::size_t label) {
  int before = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (shares[k] > shares[label] || (shares[k] == shares[label] && k < label)) ++before;
  }
  return before;
}

double squared_error(std::span<const float> shares, std::size_t label) {
  double sum = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    const double error = double{shares[k]} - (k == label ? 1 : 0);
    sum += error * error;
  }
  return shares.size() == 2 ? sum / 2 : sum;
}

double area_of(const ClassProbabilities& given, std::size_t positive) {
  return roc_auc(ranked_samples(given, positive));
}

double mean_area(const ClassProbabilities& given) {
  if (given.classes == 2) return area_of(given, 1);
  double sum = 0;
  double count = 0;
  for (std::size_t k = 0; k < given.classes; ++k) {
    if (std::ranges::find(given.labels, static_cast<int>(k)) == given.labels.end()) continue;
    const double area = area_of(given, k);
    if (std::isnan(area)) return area;
    sum += area;
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / count;
}

}  // namespace

double roc_auc(std::vector<RankedSample> samples) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto is_nan = [](const RankedSample& sample) { return std::isnan(sample.score); };
  if (std::ranges::any_of(samples, is_nan)) return kNone;
  std::ranges::sort(samples, {}, &RankedSample::score);
  std::int64_t positives = 0;
  std::int64_t negatives = 0;
  std::int64_t half_pairs = 0;  // twice the pairs in the right order
  for (std::size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    std::int64_t equal[2] = {};  // of samples with this score, by `positive`
    while (end < samples.size() && samples[end].score == samples[begin].score) {
      ++equal[samples[end++].positive ? 1 : 0];
    }
    half_pairs += equal[1] * (2 * negatives + equal[0]);
    positives += equal[1];
    negatives += equal[0];
  }
  if (positives == 0 || negatives == 0) return kNone;
  return static_cast<double>(half_pairs) /
         (2 * static_cast<double>(positives) * static_cast<double>(negatives));
}

RankCurves rank_curves(std::vector<RankedSample> samples) {
  if (std::isnan(roc_auc(samples))) return {};
  std::ranges::sort(samples, std::ranges::greater{}, &RankedSample::score);
  const auto positives = static_cast<double>(
      std::ranges::count_if(samples, [](const RankedSample& one) { return one.positive; }));
  const double negatives = static_cast<double>(samples.size()) - positives;
  RankCurves curves{.roc = {{0, 0}}};
  double right = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    right += samples[i].positive ? 1 : 0;
    if (i + 1 < samples.size() && samples[i + 1].score == samples[i].score) continue;
    const auto predicted = static_cast<double>(i + 1);
    curves.roc.push_back({(predicted - right) / negatives, right / positives});
    curves.precision.push_back({right / positives, right / predicted});
  }
  return curves;
}

std::vector<RankedSample> ranked_samples(const ClassProbabilities& given, std::size_t positive) {
  std::vector<RankedSample> samples;
  samples.reserve(given.labels.size());
  for (std::size_t i = 0; i < given.labels.size(); ++i) {
    if (given.labels[i] < 0) continue;
    samples.push_back({given.of(i)[positive], given.labels[i] == static_cast<int>(positive)});
  }
  return samples;
}

Calibration calibration_of(const ClassProbabilities& given) {
  Calibration bins{};
  for (std::size_t i = 0; i < given.labels.size(); ++i) {
    if (given.labels[i] < 0) continue;
    const auto shares = given.of(i);
    const auto most = std::ranges::max_element(shares);
    const double confidence = double{*most};
    // A bin holds its upper end.
    const double place = std::ceil(confidence * kCalibrationBins) - 1;
    const auto last = static_cast<double>(kCalibrationBins - 1);
    CalibrationBin& bin = bins[place > 0 ? static_cast<std::size_t>(std::min(place, last)) : 0];
    ++bin.samples;
    bin.right += most - shares.begin() == given.labels[i] ? 1 : 0;
    bin.confidence += confidence;
  }
  return bins;
}

double expected_calibration_error(const Calibration& bins) {
  double samples = 0;
  double sum = 0;
  for (const CalibrationBin& bin : bins) {
    samples += static_cast<double>(bin.samples);
    sum += std::abs(bin.confidence - static_cast<double>(bin.right));
  }
  return quotient(sum, samples);
}

PrCurve pr_curve(const ClassProbabilities& given, std::size_t of) {
  constexpr std::size_t kThresholds = 201;
  // Samples by the highest threshold that they reach, which are all others' sums.
  std::vector<float> reached[2] = {std::vector<float>(kThresholds),
                                   std::vector<float>(kThresholds)};
  float all[2] = {};
  for (std::size_t i = 0; i < given.labels.size(); ++i) {
    const float share = given.of(i)[of];
    if (given.labels[i] < 0 || !(share >= 0 && share <= 1)) continue;
    const std::size_t kind = given.labels[i] == static_cast<int>(of) ? 1 : 0;
    ++reached[kind][static_cast<std::size_t>(double{share} * (kThresholds - 1))];
    ++all[kind];
  }
  PrCurve curve;
  curve.true_positives = curve.false_positives = std::vector<float>(kThresholds);
  curve.true_negatives = curve.false_negatives = std::vector<float>(kThresholds);
  float above[2] = {};
  for (std::size_t i = kThresholds; i-- > 0;) {
    for (const std::size_t kind : {0, 1}) above[kind] += reached[kind][i];
    curve.true_positives[i] = above[1];
    curve.false_positives[i] = above[0];
    curve.true_negatives[i] = all[0] - above[0];
    curve.false_negatives[i] = all[1] - above[1];
  }
  return curve;
}

ProbabilityScores probability_scores(const ClassProbabilities& given) {
  ProbabilityScores scores;
  for (const int k : {2, 3, 5}) {
    if (static_cast<std::size_t>(k) < given.classes) scores.top.emplace_back(k, 0);
  }
  double samples = 0;
  for (std::size_t i = 0; i < given.labels.size(); ++i) {
    if (given.labels[i] < 0) continue;
    ++samples;
    const auto label = static_cast<std::size_t>(given.labels[i]);
    scores.brier += squared_error(given.of(i), label);
    if (scores.top.empty()) continue;
    const int place = place_of(given.of(i), label);
    for (auto& [k, count] : scores.top) count += place < k ? 1 : 0;
  }
  for (auto& [k, count] : scores.top) count = quotient(count, samples);
  scores.brier = quotient(scores.brier, samples);
  scores.roc_auc = mean_area(given);
  scores.ece = expected_calibration_error(calibration_of(given));
  return scores;
}

}  // namespace bp::trainer
