#pragma once

#include <string>

namespace bp::launcher {

// Prints "bprun: TEXT" on stderr before a job has an OutputHub. Escapes what would steer a
// terminal.
void say(const std::string& text);

}  // namespace bp::launcher
