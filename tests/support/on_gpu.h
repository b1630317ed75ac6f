// Whether tests for devices run on the machine's own GPU and not on the fakes (scripts/run-on-gpu).
#pragma once

#include <cstdlib>

namespace bp::test {

inline bool runs_on_gpu() { return std::getenv("BP_TEST_ON_GPU") != nullptr; }

// Names a library in a variable, if the tests use the fakes.
inline int use_fake(const char* variable, const char* library) {
  return runs_on_gpu() ? 0 : ::setenv(variable, library, 1);
}

}  // namespace bp::test
