// What is wrong with the extensions of a program.
#pragma once

#include "bp/trainer/run.h"

namespace bp::trainer {

// Throws invalid_argument for a name that is invalid or that something else has.
void check(const Extensions& extensions);

}  // namespace bp::trainer
