// Runs ranks of which one is in trouble, over either wire, and returns each rank's error.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/run_ranks.h"

namespace bp::test {

using Body = std::function<void(Communicator&)>;

// Half of a collective's timeout (RanksOptions), so an error within it came from another rank and
// not from the deadline. On an idle machine it takes a tenth of a second.
inline constexpr std::chrono::seconds kSoon{10};

// Also runs over Gloo, where a wrong move would end the process.
class Trouble : public testing::TestWithParam<Wire> {
 protected:
  void SetUp() override { options_.wire = GetParam(); }

  std::vector<std::string> errors(int ranks, const Body& body) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = try_ranks(ranks, body, options_);
    took_ = std::chrono::steady_clock::now() - begin;
    return result;
  }

  RanksOptions options_;
  std::chrono::steady_clock::duration took_{};
};

#define OVER_BOTH_WIRES(suite)                                 \
  INSTANTIATE_TEST_SUITE_P(                                    \
      Wires, suite, testing::Values(Wire::inproc, Wire::gloo), \
      [](const auto& param) { return param.param == Wire::inproc ? "inproc" : "gloo"; })

}  // namespace bp::test
