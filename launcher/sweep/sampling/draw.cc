#include "launcher/sweep/sampling/draw.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

namespace bp::launcher::sweep {
namespace {

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

}  // namespace

Parameters parameters_of(const Block& block,
                         const std::function<std::vector<Value>(const Dimension&)>& values_of) {
  Parameters parameters;
  for (const Dimension& dimension : block.dimensions) {
    auto values = values_of(dimension);
    for (std::size_t i = 0; i < values.size(); ++i) {
      parameters.emplace_back(dimension.names[i], std::move(values[i]));
    }
  }
  return active_parameters(block, std::move(parameters));
}

std::vector<Parameters> grid_of(const Block& block) {
  std::size_t count = 1;
  for (const Dimension& dimension : block.dimensions) count *= dimension.size();
  std::vector<Parameters> grid;
  std::set<std::string> seen;
  for (std::size_t position = 0; position < count; ++position) {
    std::size_t later = count;  // combinations of the dimensions that follow
    Parameters parameters = parameters_of(block, [&](const Dimension& dimension) {
      later /= dimension.size();
      return dimension.values(position / later % dimension.size());
    });
    if (!block.when.empty() && !seen.insert(shown(parameters)).second) continue;
    grid.push_back(std::move(parameters));
  }
  return grid;
}

Parameters random_parameters(const Block& block, Random& random) {
  return parameters_of(block, [&](const Dimension& dimension) { return draw(dimension, random); });
}

Value real_value(const Dimension& dimension, double x) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.5e", x);
  return Value::of_real(std::clamp(std::stod(digits), dimension.low, dimension.high));
}

}  // namespace bp::launcher::sweep
