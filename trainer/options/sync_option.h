// The texts of --sync and --sync-outer.
#pragma once

#include <string>

#include "bp/torch/sync.h"

namespace bp::trainer {

// Reads every (each step), 50 (steps) or 30s (time), and sets when rounds are. Throws InputError
// (2) for another text.
void set_sync(Sync& sync, const std::string& text);

// Reads local, bmuf, diloco, or parts such as rate:0.7,momentum:0.9,nesterov. Throws InputError (2)
// for another text.
[[nodiscard]] OuterRule parse_outer_rule(const std::string& text);

}  // namespace bp::trainer
