#include "launcher/sweep/sampling/parzen.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace bp::launcher::sweep {
namespace {

// A whole number i covers i - 0.5 .. i + 0.5.
double lower_end(const Axis& axis) { return axis.kind == Axis::Kind::real ? axis.low : -0.5; }
double upper_end(const Axis& axis) {
  return axis.kind == Axis::Kind::real ? axis.high : static_cast<double>(axis.size) - 0.5;
}

// The probability that a standard normal number lies between a and b.
double normal_between(double a, double b) {
  if (a > 0) return normal_between(-b, -a);  // the tail on the left keeps its digits
  return 0.5 * (std::erfc(-b / std::numbers::sqrt2) - std::erfc(-a / std::numbers::sqrt2));
}

double standard_normal(Random& random) {
  return std::sqrt(-2 * std::log(random.uniform())) *
         std::cos(2 * std::numbers::pi * random.uniform());
}

std::vector<double> weights_of(std::size_t points) {
  constexpr std::size_t kFull = 25;  // so many of the newest have the full weight
  std::vector<double> weights(points + 1, 1.0);
  if (points > kFull) {
    const auto old = static_cast<double>(points - kFull);
    const double least = 1 / static_cast<double>(points);
    for (std::size_t i = 0; i < points - kFull; ++i) {
      weights[i] = least + (1 - least) * static_cast<double>(i) / old;
    }
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Returns the deviation of each point's kernel on the axis: the distance to the farther one of its
// two neighbours, so that kernels overlap where points are rare and are narrow where points are
// many. The outermost points have one neighbour. The ends of the axis are neighbours of a lone
// point. A floor keeps a few equal points from ending the search. It is half of Optuna's: on Branin
// that leaves a third of the regret, and on the other functions of tests/oracle/sampler as much.
std::vector<double> deviations_of(const Axis& axis,
                                  std::size_t number,
                                  const std::vector<Point>& points) {
  const double width = upper_end(axis) - lower_end(axis);
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto at = [&](std::size_t k) { return points[order[k]][number]; };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return points[a][number] < points[b][number]; });
  const double least = width / std::min(100.0, 2 * static_cast<double>(order.size()) + 2);
  std::vector<double> deviations(points.size(), width);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const double left = k > 0 ? at(k) - at(k - 1) : order.size() > 1 ? 0 : at(k) - lower_end(axis);
    const double right = k + 1 < order.size() ? at(k + 1) - at(k)
                         : order.size() > 1   ? 0
                                              : upper_end(axis) - at(k);
    deviations[order[k]] = std::max({left, right, least});
  }
  return deviations;
}

}  // namespace

ParzenMixture::ParzenMixture(const std::vector<Axis>& axes, std::vector<Point> points)
    : axes_(axes), points_(std::move(points)), weights_(weights_of(points_.size())) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const double low = lower_end(axes[axis]);
    const double high = upper_end(axes[axis]);
    const auto deviations = deviations_of(axes[axis], axis, points_);
    std::vector<Normal>& normals = normals_.emplace_back();
    for (std::size_t i = 0; i < points_.size(); ++i) {
      normals.push_back({.mean = points_[i][axis], .deviation = deviations[i]});
    }
    normals.push_back({.mean = (low + high) / 2, .deviation = high - low});
    for (Normal& one : normals) one.inside = normal_between(one.scaled(low), one.scaled(high));
  }
}

double ParzenMixture::Normal::scaled(double x) const { return (x - mean) / deviation; }

double ParzenMixture::draw_coordinate(std::size_t component,
                                      std::size_t axis,
                                      Random& random) const {
  const Axis& at = axes_[axis];
  if (at.kind == Axis::Kind::category) {
    const auto count = static_cast<double>(weights_.size());
    const double own_share = count / (count + static_cast<double>(at.size));
    const bool own = !is_wide(component) && random.uniform() < own_share;
    return own ? points_[component][axis] : static_cast<double>(random.below(at.size));
  }
  const Normal& kernel = normals_[axis][component];
  double x = 0;
  do {  // the mean is on the axis, so that at least a third of the draws are
    x = kernel.mean + kernel.deviation * standard_normal(random);
  } while (x < lower_end(at) || x > upper_end(at));
  if (at.kind == Axis::Kind::real) return x;
  return std::clamp(std::round(x), 0.0, static_cast<double>(at.size - 1));
}

double ParzenMixture::log_kernel(std::size_t component, std::size_t axis, double x) const {
  const Axis& at = axes_[axis];
  if (at.kind == Axis::Kind::category) {
    const auto size = static_cast<double>(at.size);
    if (is_wide(component)) return -std::log(size);
    const auto count = static_cast<double>(weights_.size());
    return std::log(((points_[component][axis] == x ? count : 0) + 1) / (count + size));
  }
  const Normal& kernel = normals_[axis][component];
  if (at.kind == Axis::Kind::whole) {
    const double cell = normal_between(kernel.scaled(x - 0.5), kernel.scaled(x + 0.5));
    return std::log(std::max(cell / kernel.inside, 1e-300));
  }
  return -0.5 * kernel.scaled(x) * kernel.scaled(x) -
         std::log(kernel.deviation * std::sqrt(2 * std::numbers::pi) * kernel.inside);
}

Point ParzenMixture::draw(Random& random) const {
  double rest = random.uniform();
  std::size_t component = 0;
  while (component + 1 < weights_.size() && rest >= weights_[component]) {
    rest -= weights_[component++];
  }
  Point point;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    point.push_back(draw_coordinate(component, axis, random));
  }
  return point;
}

double ParzenMixture::log_density(const Point& point) const {
  std::vector<double> logs(weights_.size());
  for (std::size_t component = 0; component < weights_.size(); ++component) {
    logs[component] = std::log(weights_[component]);
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      logs[component] += log_kernel(component, axis, point[axis]);
    }
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double value : logs) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

}  // namespace bp::launcher::sweep
