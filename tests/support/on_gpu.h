// Whether tests for devices run on the machine's own GPU and not on the fakes (scripts/run-on-gpu).
#pragma once

#include <cstdlib>
#include <string>

namespace bp::test {

inline bool runs_on_gpu() { return std::getenv("BP_TEST_ON_GPU") != nullptr; }

// Names a library in a variable, if the tests use the fakes.
inline int use_fake(const char* variable, const std::string& library) {
  return runs_on_gpu() ? 0 : ::setenv(variable, library.c_str(), 1);
}

}  // namespace bp::test
