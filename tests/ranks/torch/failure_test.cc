// A communicator that fails inside a window: every rank gets the error, and none hangs or crashes.
#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <chrono>
#include <future>

#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"

namespace bp {
namespace {

using test::make_rows;
using test::Mlp;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Failure, OfAPeerInsideAWindowEndsTheCallAndTheOptimizer) {
  std::promise<void> stepped[2];
  const auto ends = test::try_ranks(3, [&](Communicator& world) {
    const Mlp model;
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("sgd", model.parameters(), 0.1));
    optimizer.backward(model.loss(make_rows(4, 1)), 4);
    optimizer.step();
    if (world.rank() == 2) {
      for (auto& other : stepped) {
        other.get_future().wait_for(std::chrono::seconds(20));
      }
      world.abort("rank 2 has lost its data");
      return;
    }
    stepped[world.rank()].set_value();
    EXPECT_THROW(
        {
          optimizer.backward(model.loss(make_rows(4, 2)), 4);
          optimizer.step();
        },
        Error);
    optimizer.step();
  });
  EXPECT_THAT((std::vector<std::string>{ends[0], ends[1]}),
              Each(AllOf(StartsWith("aborted: DistributedOptimizer: unusable since an earlier call "
                                    "failed: "),
                         HasSubstr("rank 2 has lost its data"))));
}

TEST(Failure, DestructorWithinAWindowIsHarmless) {
  const Mlp models[2];
  const auto ends = test::try_ranks(2, [&](Communicator& world) {
    const Mlp& model = models[world.rank()];
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("sgd", model.parameters(), 0.1));
    if (world.rank() == 0) {
      optimizer.backward(model.loss(make_rows(4, 1)), 4);  // in flight, and rank 1 never takes part
      throw Error(ErrorCode::io, "this rank's disk is full");
    }
    world.abort("rank 1 gave up");
  });
  EXPECT_THAT(ends[0], ::testing::AnyOf(HasSubstr("disk is full"), HasSubstr("rank 1 gave up")));
  for (const Mlp& model : models) {
    for (const at::Tensor& parameter : model.parameters()) {
      EXPECT_FALSE(parameter.grad().defined())
          << "no gradient may stay in the communicator's memory";
    }
    model.loss(make_rows(4, 1)).backward();  // no hook may be left either
  }
}

}  // namespace
}  // namespace bp
