#include "launcher/sweep/sampling/draw.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace bp::launcher::sweep {

Value real_value(const Dimension& dimension, double x) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.5e", x);
  return Value::of_real(std::clamp(std::stod(digits), dimension.low, dimension.high));
}

std::vector<Value> draw(const Dimension& dimension, Random& random) {
  if (const std::size_t size = dimension.size(); size > 0) {
    return dimension.values(random.below(size));
  }
  const double share = random.uniform();
  if (dimension.kind == Dimension::Kind::uniform) {
    return {real_value(dimension, dimension.low + share * (dimension.high - dimension.low))};
  }
  const double low = std::log(dimension.low);
  return {real_value(dimension, std::exp(low + share * (std::log(dimension.high) - low)))};
}

Parameters random_parameters(const Block& block, Random& random) {
  Parameters parameters;
  for (const Dimension& dimension : block.dimensions) {
    auto values = draw(dimension, random);
    for (std::size_t i = 0; i < values.size(); ++i) {
      parameters.emplace_back(dimension.names[i], std::move(values[i]));
    }
  }
  return active_parameters(block, std::move(parameters));
}

}  // namespace bp::launcher::sweep
