// Tests that buckets are sent and received during backward.
#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <chrono>
#include <thread>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"

namespace bp {
namespace {

using test::make_rows;
using test::Mlp;
using ::testing::ElementsAre;

// A window in which backward does not continue with the next layer until the buckets that have
// started are summed. Without overlap it would never end.
struct Window {
  explicit Window(Communicator& comm)
      : world(comm),
        optimizer(world,
                  model.named_parameters(),
                  test::make_optimizer("sgd", model.parameters(), 0.1),
                  {.first_bucket_bytes = 256, .bucket_bytes = 1024, .nominal_weight = 8}) {
    for (const std::size_t weight : {4, 2, 0}) {  // of each layer, the last one first
      model.parameter(weight).register_hook([this](const at::Tensor& gradient) {
        wait_for_started_buckets();
        return gradient;
      });
    }
  }

  void wait_for_started_buckets() {
    const std::uint64_t started = optimizer.collectives();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (world.counters().operations - before < started) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline)
          << started << " collectives have started and are not complete";
      std::this_thread::yield();
    }
    done.push_back(world.counters().operations - before);
  }

  Communicator& world;
  Mlp model;
  DistributedOptimizer optimizer;
  std::uint64_t before = world.counters().operations;
  // collectives that were complete when each layer's gradient arrived
  std::vector<std::uint64_t> done = {};
};

// docs/acceptance.md, Optimizer: Communication overlaps backward.
// docs/features.md, Gradients: Buckets, which are sent during the backward pass | always
TEST(Overlap, BucketsArriveDuringBackward) {
  const auto body = [](Communicator& world) {
    Window window(world);
    window.optimizer.backward(window.model.loss(make_rows(4, 1)), 4);
    EXPECT_THAT(window.done, ElementsAre(1, 2, 3));
    EXPECT_EQ(window.optimizer.collectives(), 4U)
        << "the last bucket must start with the last gradient";
    EXPECT_TRUE(window.optimizer.step());
  };
  test::run_ranks(2, body);
  test::run_ranks(3, body, {.fault = [](int) {
                    return Fault{.kind = Fault::Kind::slow, .delay = std::chrono::milliseconds(2)};
                  }});
  test::run_ranks(4, body, {.wire = test::Wire::shm});
}

}  // namespace
}  // namespace bp
