#include "launcher/sweep/sampling/grid.h"

#include <set>
#include <string>
#include <utility>

namespace bp::launcher::sweep {
namespace {

Parameters combination(const Block& block, std::size_t position) {
  std::vector<std::vector<Value>> values(block.dimensions.size());
  for (std::size_t i = values.size(); i-- > 0;) {
    const std::size_t size = block.dimensions[i].size();
    values[i] = block.dimensions[i].values(position % size);
    position /= size;
  }
  Parameters parameters;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = 0; k < values[i].size(); ++k) {
      parameters.emplace_back(block.dimensions[i].names[k], std::move(values[i][k]));
    }
  }
  return active_parameters(block, std::move(parameters));
}

}  // namespace

std::vector<Parameters> grid_of(const Block& block) {
  std::size_t count = 1;
  for (const Dimension& dimension : block.dimensions) count *= dimension.size();
  std::vector<Parameters> grid;
  std::set<std::string> seen;
  for (std::size_t position = 0; position < count; ++position) {
    Parameters parameters = combination(block, position);
    if (!block.when.empty() && !seen.insert(shown(parameters)).second) continue;
    grid.push_back(std::move(parameters));
  }
  return grid;
}

}  // namespace bp::launcher::sweep
