// Helpers that the targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "bp/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace bp::test {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Runs a reader. It may refuse the input with a bp::Error; any other exception is a finding.
template <class Body>
void read_anything(const Body& body) {
  try {
    body();
  } catch (const Error&) {
  }
}

// Returns the result of reading something that bp has written. The reader must not refuse it.
template <class Body>
auto read_own(const Body& body) {
  try {
    return body();
  } catch (const std::exception& refusal) {
    std::fprintf(stderr, "a reader refuses what bp has written: %s\n", refusal.what());
    std::abort();
  }
}

}  // namespace bp::test
