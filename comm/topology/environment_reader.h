// Environment::current() for any set of variables, such as those of a test.
#pragma once

#include "bp/environment.h"
#include "comm/topology/launcher.h"
#include "comm/topology/variables.h"

namespace bp {

[[nodiscard]] Environment read_environment(const Variables& variables);

// Returns the environment of a rank that a launcher started. Hosts, store and key are not set: the
// ranks find them out together (comm/rendezvous/launched_job.h).
[[nodiscard]] Environment environment_of(const LaunchedRank& rank);

}  // namespace bp
