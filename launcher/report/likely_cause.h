// Guesses from its exit code and output why a rank failed, and what to try. Pure.
#pragma once

#include <string>
#include <vector>

namespace bp::launcher {

struct Evidence {
  int exit_code = 0;                          // as exit_code_of() returns it
  std::string host_word = {};                 // that memory ran out, as its host knows; else empty
  std::vector<std::string> last_errors = {};  // the last lines of its stderr
};

// Returns one line; empty if no cause is known.
[[nodiscard]] std::string likely_cause(const Evidence& evidence);

}  // namespace bp::launcher
