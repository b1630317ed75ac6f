// Messages between two ranks or more over each backend, and what they hold.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/run_ranks.h"

namespace bp::test {

// Longer than any message that is sent before its receive is posted.
inline constexpr std::size_t kLongContent = 300'000;
inline constexpr std::size_t kShortContent = 10;

struct MessageCase {
  Wire wire = Wire::inproc;
  std::string backend = "auto";
  std::vector<int> local_sizes = {};
  std::string name = "inproc";
};

class Messages : public testing::TestWithParam<MessageCase> {
 protected:
  void run(int ranks, const std::function<void(Communicator&)>& body) {
    RanksOptions options{.wire = GetParam().wire};
    options.communicator.backend = GetParam().backend;
    if (GetParam().local_sizes.size() > 1) options.local_sizes = {1, ranks - 1};
    run_ranks(ranks, body, options);
  }
};

// Returns data that differs between any two messages; `what` tells messages of one pair apart.
inline std::vector<std::int64_t> content(int from, int to, int what, std::size_t count) {
  std::vector<std::int64_t> data(count);
  std::iota(data.begin(), data.end(), (from * 64 + to) * 1'000'000'000LL + what * 1'000'000LL);
  return data;
}

}  // namespace bp::test
