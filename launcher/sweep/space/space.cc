#include "launcher/sweep/space/space.h"

#include <algorithm>
#include <cmath>

namespace bp::launcher::sweep {

std::size_t Dimension::size() const {
  switch (kind) {
    case Kind::choice:
      return rows.size();
    case Kind::range:  // 0.1, 0.2, 0.3: the last step may miss `high` by a rounding error
      return static_cast<std::size_t>(std::floor((high - low) / step * (1 + 1e-12) + 1e-9)) + 1;
    case Kind::integer:
      return static_cast<std::size_t>(high - low) + 1;
    case Kind::uniform:
    case Kind::loguniform:
      break;
  }
  return 0;
}

std::vector<Value> Dimension::values(std::size_t i) const {
  if (kind == Kind::choice) return rows.at(i);
  const double width = kind == Kind::range ? step : 1;
  if (kind == Kind::integer || whole) {
    return {Value::of_integer(static_cast<std::int64_t>(low + static_cast<double>(i) * width))};
  }
  // 12 digits turn 0.30000000000000004 into 0.3.
  const double exact = low + static_cast<double>(i) * width;
  const double scale =
      exact == 0 ? 1 : std::pow(10.0, 11 - std::floor(std::log10(std::abs(exact))));
  return {Value::of_real(std::round(exact * scale) / scale)};
}

const Dimension* find_dimension(const Block& block, const std::string& name) {
  for (const Dimension& dimension : block.dimensions) {
    if (std::find(dimension.names.begin(), dimension.names.end(), name) != dimension.names.end()) {
      return &dimension;
    }
  }
  return nullptr;
}

Parameters active_parameters(const Block& block, Parameters parameters) {
  const auto holds = [&](const Condition& condition) {
    const Value* value = find_value(parameters, condition.name);
    return value != nullptr && std::find(condition.values.begin(), condition.values.end(),
                                         *value) != condition.values.end();
  };
  const auto excluded = [&](const auto& parameter) {
    const auto when = block.when.find(parameter.first);
    return when != block.when.end() &&
           !std::all_of(when->second.begin(), when->second.end(), holds);
  };
  // Removing one parameter may end the condition of another, so each search begins again.
  while (true) {
    const auto found = std::find_if(parameters.begin(), parameters.end(), excluded);
    if (block.when.empty() || found == parameters.end()) return parameters;
    parameters.erase(found);
  }
}

}  // namespace bp::launcher::sweep
