// Environment::current() of variables that need not be this process's.
#pragma once

#include "bp/environment.h"
#include "comm/topology/variables.h"

namespace bp {

[[nodiscard]] Environment read_environment(const Variables& variables);

}  // namespace bp
