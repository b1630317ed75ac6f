// The bprun that belongs to this program.
#pragma once

#include <filesystem>
#include <string>

namespace bp::trainer {

// Returns bprun beside the program `self`, or its name to be looked up in PATH.
[[nodiscard]] std::string bprun_program(const std::filesystem::path& self);

}  // namespace bp::trainer
