// Lists names for a message.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

// Returns "id, text, label", with at most 20 names and 40 bytes of each.
[[nodiscard]] std::string shown_names(const std::vector<std::string>& names);

}  // namespace bp::trainer
