#include "trainer/tasks/tokens/entity_report.h"

#include <array>
#include <cstddef>
#include <numeric>
#include <span>

namespace bp::trainer {
namespace {

double quotient(double dividend, double divisor) { return divisor == 0 ? 0 : dividend / divisor; }

EntityScore score_of(const EntityCount& count) {
  EntityScore score;
  score.precision =
      quotient(static_cast<double>(count.correct), static_cast<double>(count.predicted));
  score.recall = quotient(static_cast<double>(count.correct), static_cast<double>(count.labelled));
  score.f1 = quotient(2 * score.precision * score.recall, score.precision + score.recall);
  score.support = count.labelled;
  return score;
}

// Adds in the order in which numpy adds, so that rounded tables agree.
double numpy_sum(std::span<const double> terms) {
  constexpr std::size_t kLanes = 8;
  constexpr std::size_t kBlock = 128;
  if (terms.size() < kLanes) return std::accumulate(terms.begin(), terms.end(), 0.0);
  if (terms.size() > kBlock) {
    std::size_t half = terms.size() / 2;
    half -= half % kLanes;
    return numpy_sum(terms.first(half)) + numpy_sum(terms.subspan(half));
  }
  std::array<double, kLanes> lanes{};
  const std::size_t whole = terms.size() - terms.size() % kLanes;
  for (std::size_t i = 0; i < whole; ++i) lanes.at(i % kLanes) += terms[i];
  const double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                     ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  return std::accumulate(terms.begin() + static_cast<std::ptrdiff_t>(whole), terms.end(), sum);
}

EntityScore mean_of(const std::vector<EntityScore>& scores, const std::vector<double>& weights) {
  const auto mean = [&](double EntityScore::*member) {
    std::vector<double> terms;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      terms.push_back(scores[i].*member * weights[i]);
    }
    return quotient(numpy_sum(terms), numpy_sum(weights));
  };
  EntityScore result{mean(&EntityScore::precision), mean(&EntityScore::recall),
                     mean(&EntityScore::f1)};
  for (const EntityScore& score : scores) result.support += score.support;
  return result;
}

}  // namespace

EntityScores entity_scores(const EntityTally& tally) {
  EntityScores result;
  EntityCount all;
  std::vector<double> supports;
  const std::vector<std::string>& types = tally.tags().types();
  for (std::size_t type = 0; type < types.size(); ++type) {
    const EntityCount count = tally.count(static_cast<int>(type));
    if (count.predicted == 0 && count.labelled == 0) continue;
    result.types.push_back(types[type]);
    result.scores.push_back(score_of(count));
    supports.push_back(static_cast<double>(count.labelled));
    all.correct += count.correct;
    all.predicted += count.predicted;
    all.labelled += count.labelled;
  }
  result.micro = score_of(all);
  result.macro = mean_of(result.scores, std::vector<double>(result.scores.size(), 1));
  result.weighted = mean_of(result.scores, supports);
  result.accuracy =
      quotient(static_cast<double>(tally.correct_words()), static_cast<double>(tally.words()));
  return result;
}

}  // namespace bp::trainer
