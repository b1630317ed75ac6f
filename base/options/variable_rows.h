// The environment variables that bp's programs and bp::comm read, and those that bprun gives each
// rank. A test compares the table with the variables that the sources name.
#pragma once

#include <span>
#include <string_view>

namespace bp {

// One variable.
struct VariableRow {
  std::string_view name;
  std::string_view value;  // what it takes: "FILE"
  std::string_view help;
  std::string_view usual = {};  // what holds without it
};

// Returns the variables that a user may set.
[[nodiscard]] std::span<const VariableRow> variables_of_users();

// Returns the names of the variables that bprun sets for each rank and that a user cannot set.
// docs/environment.md describes them.
[[nodiscard]] std::span<const std::string_view> variables_of_ranks();

}  // namespace bp
