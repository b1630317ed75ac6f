// Munge, by which Slurm's daemons know which user of another host made a text. Its library is
// opened where it is installed; bp does not link it.
#pragma once

#include <string>
#include <string_view>

namespace bp::launcher {

// Returns a credential with which other hosts of the cluster can check that a process of this user
// made the text now; "" if munge is not installed or its daemon does not answer.
[[nodiscard]] std::string vouch_by_munge(std::string_view text);

// Returns why the credential does not prove that a process of this user made the text; "" if it
// does.
[[nodiscard]] std::string doubt_by_munge(const std::string& credential, std::string_view text);

}  // namespace bp::launcher
