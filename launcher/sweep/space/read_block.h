// Reads one block of SPACE: what its trials need, and what they search.
#pragma once

#include <string>
#include <vector>

#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/yaml_node.h"

namespace bp::launcher::sweep {

inline constexpr double kMostProducts = 1e6;  // of a grid

// The keys of a block that the top of the file may also have, where they hold for all blocks.
[[nodiscard]] const std::vector<std::string>& shared_keys();
// The keys that say what is searched.
[[nodiscard]] const std::vector<std::string>& search_keys();

// Reads the value of a shared key into the block.
void read_shared(const YamlNode& entry, Block& block);

// Reads the search keys among `entries` into the block, and checks the whole block.
void read_search(const std::vector<YamlNode>& entries, Block& block, const YamlNode& whole);

}  // namespace bp::launcher::sweep
