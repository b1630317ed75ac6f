// Which environment variables differ between hosts. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bp::launcher {

// A variable that not all hosts have with the same value. `values` is by host; unset where the host
// does not have the variable.
struct Difference {
  std::string name;
  std::map<std::string, std::optional<std::string>> values;
};

// Compares the environments that a rank would have on each host. Leaves out variables of a login
// (SSH_CONNECTION, XDG_...), which always differ.
[[nodiscard]] std::vector<Difference> environment_differences(
    const std::map<std::string, std::vector<std::string>>& environments);

}  // namespace bp::launcher
