// Checks that something is equal on all ranks before they exchange data that rely on it.
#pragma once

#include <string>
#include <vector>

#include "bp/communicator.h"

namespace bp {

// Compares `lines` over all ranks; a line must have no line break. If they differ, every rank
// throws the same mismatch. It names the first rank that differs from rank 0 and the first line in
// which it does, and ends with `advice`: "<what>: rank 2 has ... where rank 0 has ...: <advice>".
// Collective: costs one small collective if all agree.
void require_same_lines(
    Communicator& comm,
    const std::vector<std::string>& lines,
    const std::string& what,
    const std::string& advice = "build the same model with the same options on every rank");

}  // namespace bp
