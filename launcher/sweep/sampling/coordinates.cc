#include "launcher/sweep/sampling/coordinates.h"

#include <cmath>
#include <utility>

#include "launcher/sweep/sampling/draw.h"

namespace bp::launcher::sweep {
namespace {

using Kind = Dimension::Kind;

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

}  // namespace

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

std::vector<Value> values_at(const Dimension& dimension, double x) {
  if (dimension.kind == Kind::uniform) return {real_value(dimension, x)};
  if (dimension.kind == Kind::loguniform) return {real_value(dimension, std::exp(x))};
  return dimension.values(static_cast<std::size_t>(x));
}

Axis axis_of(const Dimension& dimension) {
  const bool logarithm = dimension.kind == Kind::loguniform;
  return {dimension.kind == Kind::choice ? Axis::Kind::category
          : dimension.size() > 0         ? Axis::Kind::whole
                                         : Axis::Kind::real,
          logarithm ? std::log(dimension.low) : dimension.low,
          logarithm ? std::log(dimension.high) : dimension.high, dimension.size()};
}

}  // namespace bp::launcher::sweep
