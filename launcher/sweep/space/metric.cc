#include "launcher/sweep/space/metric.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/refuse.h"
#include "base/text.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::array<std::string_view, 12> kMaximized{"accuracy", "f1",    "auc",     "precision",
                                                      "recall",   "mcc",   "pearson", "spearman",
                                                      "reward",   "score", "bleu",    "throughput"};
constexpr std::array<std::string_view, 9> kMinimized{
    "loss", "error", "rmse", "mse", "mae", "nll", "perplexity", "latency", "regret"};

template <std::size_t n>
bool is_ending(const std::array<std::string_view, n>& endings, std::string_view metric) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return metric.ends_with(ending); });
}

}  // namespace

std::optional<Direction> usual_direction(std::string_view metric) {
  if (is_ending(kMaximized, metric)) return Direction::max;
  if (is_ending(kMinimized, metric)) return Direction::min;
  return std::nullopt;
}

bool is_better(Direction direction, double value, double than) {
  if (std::isnan(value)) return false;
  if (std::isnan(than)) return true;
  return direction == Direction::max ? value > than : value < than;
}

Until parse_until(const std::string& text) {
  const std::size_t sign = text.find_first_of("<>");
  const auto fail = [&] {
    refuse(concat("--until ", text), "write METRIC<NUMBER or METRIC>NUMBER, such as 'loss<0.5'");
  };
  if (sign == std::string::npos || sign == 0) fail();
  std::string number = text.substr(sign + 1);
  if (number.starts_with('=')) number.erase(0, 1);
  const Value value = Value::of_scalar(number);
  if (!value.is_number()) fail();
  return {text.substr(0, sign), text[sign] == '<', value.number()};
}

bool is_reached(const Until& until, double value) {
  return until.below ? value <= until.value : value >= until.value;
}

}  // namespace bp::launcher::sweep
