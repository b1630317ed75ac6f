#include "trainer/tasks/tokens/entity_report.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>

#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kNumberWidth = 9;
constexpr std::string_view kLongestAverage = "weighted avg";

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

// Aligns to the right in `width` code points, as Python's "{:>width}" does.
std::string aligned(const std::string& text, std::size_t width) {
  const std::size_t length = code_points(text);
  return std::string(width > length ? width - length : 0, ' ') + text;
}

std::string table_row(const std::string& name,
                      std::size_t name_width,
                      const std::vector<std::string>& cells) {
  std::string out = aligned(name, name_width) + ' ';
  for (const std::string& cell : cells) out += ' ' + aligned(cell, kNumberWidth);
  return out + '\n';
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

std::string entity_report(const EntityScores& scores, int digits) {
  std::size_t width = std::max(kLongestAverage.size(), static_cast<std::size_t>(digits));
  for (const std::string& type : scores.types) width = std::max(width, code_points(type));
  const auto row = [&](const std::string& name, const EntityScore& score) {
    return table_row(name, width,
                     {fixed(score.precision, digits), fixed(score.recall, digits),
                      fixed(score.f1, digits), std::to_string(score.support)});
  };
  std::string out = table_row("", width, {"precision", "recall", "f1-score", "support"}) + '\n';
  for (std::size_t i = 0; i < scores.types.size(); ++i) {
    out += row(scores.types[i], scores.scores[i]);
  }
  out += '\n';
  out += row("micro avg", scores.micro);
  out += row("macro avg", scores.macro);
  out += row("weighted avg", scores.weighted);
  return out;
}

}  // namespace bp::trainer
