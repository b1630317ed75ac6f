// Why a rank has failed, as far as what is known of it tells, and what to try. Pure.
#pragma once

#include <string>
#include <vector>

namespace bp::launcher {

struct Evidence {
  int exit_code = 0;                          // as of exit_code_of()
  std::string host_word = {};                 // what its host knows: that memory ran out; or empty
  std::vector<std::string> last_errors = {};  // the last lines of its stderr
};

// In one line; empty when nothing is known.
[[nodiscard]] std::string likely_cause(const Evidence& evidence);

}  // namespace bp::launcher
