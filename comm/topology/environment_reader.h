// Environment::current() of variables that need not be this process's.
#pragma once

#include "bp/environment.h"
#include "comm/topology/engine.h"
#include "comm/topology/variables.h"

namespace bp {

[[nodiscard]] Environment read_environment(const Variables& variables);

// Of a rank that an engine started, without what only the ranks know together: hosts, store, key.
[[nodiscard]] Environment environment_of(const EngineRank& rank);

}  // namespace bp
