// Reads the parameters of a block.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/yaml_node.h"

namespace bp::launcher::sweep {

[[nodiscard]] Dimension read_parameter(const YamlNode& entry);
[[nodiscard]] Dimension read_zip(const YamlNode& group);

// Reads `when` into block.when. The block's dimensions must be complete.
void read_conditions(const YamlNode& when, Block& block);

}  // namespace bp::launcher::sweep
