// FUZZ_TARGET(name) { ... } defines the function that reads `data`, of `size` bytes, and returns 0.
// A fuzzer consists of one target, which libFuzzer calls. Other builds have one program with all
// targets, which replay.cc calls by their names. Below are helpers that targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "bp/error.h"

#ifdef BP_FUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
#define FUZZ_TARGET(name) int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#else
#define FUZZ_TARGET(name)                                                             \
  static int fuzz_##name(const std::uint8_t* data, std::size_t size);                 \
  static const int registered_##name = bp::test::register_target(#name, fuzz_##name); \
  static int fuzz_##name(const std::uint8_t* data, std::size_t size)
#endif

namespace bp::test {

using FuzzTarget = int(const std::uint8_t* data, std::size_t size);
int register_target(const char* name, FuzzTarget* target);

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// What does not hold is a finding.
inline void require(bool holds) {
  if (!holds) std::abort();
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
