// What the targets have in common.
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

// Runs a reader. A bp::Error is its right to refuse; anything else that it throws is a finding.
template <class Body>
void read_anything(const Body& body) {
  try {
    body();
  } catch (const Error&) {
  }
}

// Returns what a reader makes of something that we have written, which it may not refuse.
template <class Body>
auto read_own(const Body& body) {
  try {
    return body();
  } catch (const std::exception& refusal) {
    std::fprintf(stderr, "what we write ourselves is refused: %s\n", refusal.what());
    std::abort();
  }
}

}  // namespace bp::test
