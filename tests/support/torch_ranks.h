// Compares ranks in tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bp/collective.h"

namespace bp::test {

// Every rank must call it with the same number of bytes. Fails on each rank whose bytes differ from
// rank 0's.
inline void expect_equal_on_all_ranks(Communicator& comm, const std::string& bytes) {
  if (comm.size() == 1) {
    return;
  }
  std::vector<std::uint8_t> first(bytes.begin(), bytes.end());
  broadcast(comm, view(first), {.name = "rank 0's bytes"});
  EXPECT_TRUE(std::equal(first.begin(), first.end(), bytes.begin(), bytes.end(),
                         [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); }))
      << "rank " << comm.rank() << " differs from rank 0";
}

}  // namespace bp::test
