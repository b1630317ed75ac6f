// What ssh, srun or a login shell printed when it did not lead to an agent, and what to do about
// it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::launcher {

struct SshComplaint {
  std::string text;       // the line that names the cause; all lines if none is known
  std::string_view hint;  // what to do; empty for an unknown cause
};

[[nodiscard]] SshComplaint complaint_of(const std::vector<std::string>& lines);

// What to do when the login worked but the remote shell did not start bprun.
[[nodiscard]] std::string shell_hint(const std::string& host);

}  // namespace bp::launcher
