#include "launcher/sweep/sampling/tpe.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/sweep/sampling/draw.h"
#include "launcher/sweep/sampling/parzen.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::ptrdiff_t kRandomChoices = 10;
constexpr std::size_t kDraws = 24;
constexpr std::size_t kMostGood = 25;

using Kind = Dimension::Kind;

// Where a dimension's values lie for the density: coordinates.
Axis axis_of(const Dimension& dimension) {
  const bool logarithm = dimension.kind == Kind::loguniform;
  return {.kind = dimension.kind == Kind::choice ? Axis::Kind::category
                  : dimension.size() > 0         ? Axis::Kind::whole
                                                 : Axis::Kind::real,
          .low = logarithm ? std::log(dimension.low) : dimension.low,
          .high = logarithm ? std::log(dimension.high) : dimension.high,
          .size = dimension.size()};
}

// The row of a choice whose values the trial has. A condition may exclude some names of a zip.
std::optional<double> row_of(const Dimension& dimension, const Parameters& parameters) {
  for (std::size_t row = 0; row < dimension.rows.size(); ++row) {
    bool some = false;
    bool all = true;
    for (std::size_t k = 0; k < dimension.names.size(); ++k) {
      const Value* value = find_value(parameters, dimension.names[k]);
      some |= value != nullptr;
      all &= value == nullptr || *value == dimension.rows[row][k];
    }
    if (some && all) return static_cast<double>(row);
  }
  return std::nullopt;
}

// Returns nullopt if the parameter is missing, or has a value that the dimension does not have.
std::optional<double> coordinate_of(const Dimension& dimension, const Parameters& parameters) {
  if (dimension.kind == Kind::choice) return row_of(dimension, parameters);
  const Value* value = find_value(parameters, dimension.names.front());
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double x = value->number();
  if (x < dimension.low || x > dimension.high) return std::nullopt;
  if (dimension.kind == Kind::uniform) return x;
  if (dimension.kind == Kind::loguniform) return std::log(x);
  return std::round((x - dimension.low) / (dimension.kind == Kind::range ? dimension.step : 1));
}

// One value for each name of the dimension.
std::vector<Value> values_at(const Dimension& dimension, double x) {
  if (dimension.kind == Kind::uniform) return {real_value(dimension, x)};
  if (dimension.kind == Kind::loguniform) return {real_value(dimension, std::exp(x))};
  return dimension.values(static_cast<std::size_t>(x));
}

// What all repeats of one choice say together.
struct Observation {
  Parameters parameters;
  int rank = 0;              // 0: all have ended by themselves; 1: one was stopped; 2: one runs
  std::int64_t reports = 0;  // of all repeats
  double result = 0;         // the mean, smaller is better
  int results = 0;
};

int rank_of(TrialState state) {
  if (state == TrialState::finished) return 0;
  return state == TrialState::stopped || state == TrialState::paused ? 1 : 2;
}

bool has_ended(const Observation& observation) { return observation.rank < 2; }

// Returns the observations in the order of the choices.
std::vector<Observation> observations_of(const Block& block,
                                         Direction direction,
                                         std::span<const TrialHistory> history) {
  std::map<int, Observation> found;
  for (const TrialHistory& trial : history) {
    if (!may_be_best(trial.state)) continue;
    Observation& observation = found[trial.index / block.repeat];
    observation.parameters = trial.parameters;
    observation.rank = std::max(observation.rank, rank_of(trial.state));
    observation.reports += static_cast<std::int64_t>(trial.reports.size());
    if (trial.result && std::isfinite(*trial.result)) {
      observation.result += direction == Direction::max ? -*trial.result : *trial.result;
      ++observation.results;
    } else {
      observation.rank = 2;
    }
  }
  std::vector<Observation> observations;
  for (auto& [choice, observation] : found) {
    if (observation.results > 0) observation.result /= observation.results;
    observations.push_back(std::move(observation));
  }
  return observations;
}

// Trials that have ended by themselves are better than stopped ones, of which those are better that
// were stopped later.
bool is_better_than(const Observation& a, const Observation& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.rank == 1 && a.reports != b.reports) return a.reports > b.reports;
  return a.result < b.result;
}

// The points of the best tenth and of the others.
struct Halves {
  std::vector<Point> good;
  std::vector<Point> bad;
};

Halves split(const std::vector<std::pair<Point, const Observation*>>& seen) {
  std::vector<std::size_t> order(seen.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return is_better_than(*seen[a].second, *seen[b].second);
  });
  const auto ended = static_cast<std::size_t>(std::count_if(
      seen.begin(), seen.end(), [](const auto& one) { return has_ended(*one.second); }));
  const std::size_t good = std::min((ended + 9) / 10, kMostGood);
  std::vector<bool> is_good(seen.size(), false);
  for (std::size_t i = 0; i < good; ++i) is_good[order[i]] = true;
  Halves halves;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    (is_good[i] ? halves.good : halves.bad).push_back(seen[i].first);
  }
  return halves;
}

using Dimensions = std::vector<const Dimension*>;

std::optional<Point> point_of(const Dimensions& dimensions, const Parameters& parameters) {
  Point point;
  for (const Dimension* dimension : dimensions) {
    const auto coordinate = coordinate_of(*dimension, parameters);
    if (!coordinate) return std::nullopt;
    point.push_back(*coordinate);
  }
  return point;
}

// Chooses the values of some dimensions together.
Point choose(const Dimensions& dimensions,
             const std::vector<Observation>& observations,
             Random& random) {
  std::vector<std::pair<Point, const Observation*>> seen;
  for (const Observation& observation : observations) {
    if (auto point = point_of(dimensions, observation.parameters)) {
      seen.emplace_back(std::move(*point), &observation);
    }
  }
  std::vector<Axis> axes;
  for (const Dimension* dimension : dimensions) axes.push_back(axis_of(*dimension));
  Halves halves = split(seen);
  const ParzenMixture good(axes, std::move(halves.good));
  const ParzenMixture bad(axes, std::move(halves.bad));
  Point best;
  double best_ratio = 0;
  for (std::size_t i = 0; i < kDraws; ++i) {
    Point drawn = good.draw(random);
    const double ratio = good.log_density(drawn) - bad.log_density(drawn);
    if (i > 0 && ratio <= best_ratio) continue;
    best = std::move(drawn);
    best_ratio = ratio;
  }
  return best;
}

// The dimensions that every trial has are chosen together. One that a condition may exclude is
// chosen alone, from the trials that have it: otherwise trials with more dimensions would have a
// larger ratio by chance.
std::vector<Dimensions> groups_of(const Block& block) {
  std::vector<Dimensions> groups(1);
  for (const Dimension& dimension : block.dimensions) {
    const bool conditional =
        std::any_of(dimension.names.begin(), dimension.names.end(),
                    [&](const std::string& name) { return block.when.contains(name); });
    if (conditional) {
      groups.push_back({&dimension});
    } else {
      groups.front().push_back(&dimension);
    }
  }
  return groups;
}

}  // namespace

Parameters tpe_parameters(const Block& block,
                          Direction direction,
                          std::span<const TrialHistory> history,
                          Random& random) {
  const auto observations = observations_of(block, direction, history);
  if (std::count_if(observations.begin(), observations.end(), has_ended) < kRandomChoices) {
    return random_parameters(block, random);
  }
  std::map<const Dimension*, double> coordinates;
  for (const Dimensions& group : groups_of(block)) {
    const Point point = choose(group, observations, random);
    for (std::size_t i = 0; i < group.size(); ++i) coordinates[group[i]] = point[i];
  }
  return parameters_of(block, [&](const Dimension& dimension) {
    return values_at(dimension, coordinates.at(&dimension));
  });
}

}  // namespace bp::launcher::sweep
