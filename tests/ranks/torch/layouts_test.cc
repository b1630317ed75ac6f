// However the same 32 rows of each step are shared, parameters and losses must be equal.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/ranks/torch/layout_training.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

struct Layout {
  std::vector<int> hosts = {1};
  int micro_batches = 1;
};

class Layouts : public ::testing::TestWithParam<Layout> {};

// docs/acceptance.md, Optimizer: Any number of ranks, on any hosts, trains as one process does.
TEST_P(Layouts, EndWhereLibTorchAloneEnds) {
  const Outcome alone = train_without_bp();
  const auto& [hosts, micro_batches] = GetParam();
  const int ranks = std::accumulate(hosts.begin(), hosts.end(), 0);
  const auto body = [&, parts = micro_batches](Communicator& world) {
    expect_close(train_share(world, parts), alone);
  };
  run_ranks(ranks, body, {.local_sizes = hosts});
}

INSTANTIATE_TEST_SUITE_P(OfThirtyTwoRows,
                         Layouts,
                         ::testing::Values(Layout{.hosts = {1}},
                                           Layout{.hosts = {4}},
                                           Layout{.hosts = {3, 1}},
                                           Layout{.hosts = {2}, .micro_batches = 2},
                                           Layout{.hosts = {1}, .micro_batches = 4}));

}  // namespace
}  // namespace bp::test
