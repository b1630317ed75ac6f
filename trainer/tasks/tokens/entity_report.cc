#include "trainer/tasks/tokens/entity_report.h"

#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "base/report/escape.h"
#include "base/text.h"
#include "trainer/common/numbers.h"

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

// Adds the scores of each type, and the averages. `for_people`: with short names and with commas.
Table with_scores(Table table, const EntityScores& scores, int digits, bool for_people) {
  constexpr std::size_t kLongestName = 24;
  const auto add = [&](const std::string& name, const EntityScore& of, Table::Row::Kind kind) {
    table.add({for_people ? shortened(repaired_utf8(name), kLongestName) : name,
               fixed(of.precision, digits), fixed(of.recall, digits), fixed(of.f1, digits),
               for_people ? with_commas(of.support) : std::to_string(of.support)},
              kind);
  };
  for (std::size_t i = 0; i < scores.types.size(); ++i) {
    add(scores.types[i], scores.scores[i], Table::Row::Kind::body);
  }
  add("micro avg", scores.micro, Table::Row::Kind::foot);
  add("macro avg", scores.macro, Table::Row::Kind::foot);
  add("weighted avg", scores.weighted, Table::Row::Kind::foot);
  return table;
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
  Table table{.columns = {{.width = static_cast<std::size_t>(digits)}}};
  for (const char* name : {"precision", "recall", "f1-score", "support"}) {
    table.columns.push_back({.name = name, .width = 9});
  }
  return terminal_text(with_scores(std::move(table), scores, digits, false),
                       {.gap = 1, .scikit = true});
}

Section entity_section(const EntityScores& scores, const std::string& split) {
  return {.title = concat("Entities, ", split, " split"),
          .note = "An entity is right if its type, its first word and its last word are.",
          .table = with_scores(table_of({"type", "precision", "recall", "F1", "entities"}), scores,
                               3, true)};
}

std::string entities_csv(const EntityScores& scores) {
  constexpr int kDigits = 6;
  return csv_text(with_scores(table_of({"type", "precision", "recall", "f1", "support"}), scores,
                              kDigits, false));
}

}  // namespace bp::trainer
