// Proof that all ranks were built alike, before they exchange anything that relies on it.
#pragma once

#include <string>
#include <vector>

#include "bp/communicator.h"

namespace bp {

// Compares `lines`, each free of line breaks, over all ranks. Where they differ, every rank throws
// the same mismatch, which names the first rank that differs from rank 0 and the first line in
// which it does, and ends with `advice`: "<what>: rank 2 has ... where rank 0 has ...: <advice>".
// Costs one small collective when all agree.
void require_same_lines(
    Communicator& comm,
    const std::vector<std::string>& lines,
    const std::string& what,
    const std::string& advice = "build the same model with the same options on every rank");

}  // namespace bp
