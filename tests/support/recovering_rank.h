// A rank of a job that continues after the loss of others (bprun --on-failure continue).
#pragma once

#include <string>

namespace bp::test {

// Sums over the surviving ranks. In the k-th world, the k-th of `victims` kills itself; victims are
// numbered as in the first world. Returns the program's exit code.
int recover(const std::string& victims);

}  // namespace bp::test
