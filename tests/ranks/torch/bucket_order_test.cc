// Buckets are rebuilt in the order in which gradients arrive, the same on all ranks.
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <map>
#include <string>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::make_rows;
using test::Mlp;
using test::run_ranks;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr DistributedOptimizerOptions kSmallBuckets = {.first_bucket_bytes = 256,
                                                       .bucket_bytes = 1024};

// Registers the last layer's parameters first, the opposite of the order that bp expects.
NamedTensors opposite(const Mlp& model) {
  NamedTensors parameters = model.named_parameters();
  std::ranges::reverse(parameters);
  return parameters;
}

struct Opposite {
  explicit Opposite(Communicator& world, DistributedOptimizerOptions options = kSmallBuckets)
      : optimizer(
            world, opposite(model), test::make_optimizer("sgd", model.parameters(), 0.1), options) {
  }
  void backward(int rank) {
    const auto rows = make_rows(4, static_cast<std::uint64_t>(rank));
    optimizer.backward(model.loss(rows), rows.weight());
  }
  Mlp model;
  DistributedOptimizer optimizer;
};

// docs/acceptance.md, Optimizer: Buckets are rebuilt in the order in which rank 0's gradients
// arrive.
TEST(BucketOrder, FirstBucketStartsEarlyInAnyOrderOfRegistration) {
  run_ranks(3, [](Communicator& world) {
    Opposite rank(world);
    std::vector<std::uint64_t> early;  // collectives before the window's last gradient is stored
    std::uint64_t before = 0;
    rank.model.parameter(0).register_hook([&](const at::Tensor& gradient) {
      early.push_back(rank.optimizer.collectives() - before);
      return gradient;
    });
    for (int window = 0; window < 3; ++window) {
      before = rank.optimizer.collectives();
      rank.backward(world.rank());
      rank.optimizer.step();
      test::expect_equal_on_all_ranks(world, test::bits(rank.model.parameters()));
    }
    EXPECT_THAT(early, ElementsAre(0, 3, 3)) << "all buckets but the last must have started";
  });
}

TEST(BucketOrder, WaitsForRankZerosFirstWholeWindow) {
  run_ranks(2, [](Communicator& world) {
    Opposite rank(world);
    const auto window = [&](bool filler) {
      if (filler && world.rank() == 0) {
        rank.optimizer.backward(at::Tensor(), 0);
      } else {
        rank.backward(world.rank());
      }
      rank.optimizer.step();
    };
    window(true);
    EXPECT_THAT(rank.optimizer.state().bucket_order, IsEmpty());
    window(false);
    // Each layer's bias (at even indices) comes before its weight, and the last layer first.
    EXPECT_THAT(rank.optimizer.state().bucket_order, ElementsAre(0, 1, 2, 3, 4, 5));
    test::expect_equal_on_all_ranks(world, test::bits(rank.model.parameters()));
  });
}

TEST(BucketOrder, PutsParametersThatRankZeroDoesNotUseLast) {
  run_ranks(2, [](Communicator& world) {
    Opposite rank(world);
    Mlp& model = rank.model;
    const at::Tensor loss = world.rank() == 0 ? model.parameter(2).sum() : model.parameter(1).sum();
    rank.optimizer.backward(loss, 1);
    rank.optimizer.step();
    EXPECT_THAT(rank.optimizer.state().bucket_order, ElementsAre(3, 5, 4, 2, 1, 0));
  });
}

// A sum over three ranks depends on the offset of a gradient in its bucket. Training that resumes
// from a saved state must therefore have the saved layout from its first window on.
// docs/acceptance.md, Optimizer: Residuals of rounding, the loss scale and the order of buckets are
// part of the state.
TEST(BucketOrder, IsPartOfTheState) {
  run_ranks(3, [](Communicator& world) {
    DistributedOptimizer::State saved;
    std::string parameters;
    std::string whole;
    {
      Opposite rank(world);
      rank.backward(world.rank());
      rank.optimizer.step();
      saved = rank.optimizer.state();
      parameters = test::bits(rank.model.parameters());
      rank.backward(world.rank() + 3);
      rank.optimizer.step();
      whole = test::bits(rank.model.parameters());
    }
    Opposite rank(world);
    rank.backward(world.rank());
    rank.optimizer.step();
    ASSERT_EQ(test::bits(rank.model.parameters()), parameters);
    Opposite again(world);
    for (std::size_t i = 0; i < 6; ++i) {
      again.model.parameter(i).set_data(rank.model.parameter(i).detach().clone());
    }
    again.optimizer.load_state(saved);
    EXPECT_EQ(again.optimizer.state().bucket_order, saved.bucket_order);
    std::vector<std::uint64_t> early;
    again.model.parameter(0).register_hook([&](const at::Tensor& gradient) {
      early.push_back(again.optimizer.collectives());
      return gradient;
    });
    again.backward(world.rank() + 3);
    again.optimizer.step();
    EXPECT_EQ(test::bits(again.model.parameters()), whole);
    EXPECT_THAT(early, ElementsAre(3)) << "the layout must apply from the first window on";
  });
}

// Two models that differ only in the order of registration have the same residuals, although the
// buckets of one of them have been rebuilt.
TEST(BucketOrder, ResidualsStayWithTheirParameters) {
  run_ranks(2, [](Communicator& world) {
    DistributedOptimizerOptions options = kSmallBuckets;
    options.wire = DataType::bf16;
    options.error_feedback = true;
    const auto residuals_of = [&](const Mlp& model, const NamedTensors& parameters) {
      DistributedOptimizer optimizer(world, parameters,
                                     test::make_optimizer("sgd", model.parameters(), 0.1), options);
      optimizer.backward(model.loss(make_rows(4, static_cast<std::uint64_t>(world.rank()))), 4);
      optimizer.step();
      std::map<std::string, std::string> residuals;
      for (const auto& [name, residual] : optimizer.state().residuals) {
        residuals[name] = test::bits({residual.contiguous()});
      }
      return residuals;
    };
    const Mlp one;
    const Mlp two;
    const auto usual = residuals_of(one, one.named_parameters());
    EXPECT_EQ(usual.size(), 6U);
    EXPECT_EQ(residuals_of(two, opposite(two)), usual);
  });
}

TEST(BucketOrder, DisagreementIsAMismatchAndANonPermutationIsRefused) {
  const auto load = [](std::vector<std::int64_t> order) {
    return test::try_ranks(2, [&](Communicator& world) {
      Opposite rank(world);
      DistributedOptimizer::State state{.bucket_order = {0, 1, 2, 3, 4, 5}};
      if (world.rank() == 1) state.bucket_order = order;
      rank.optimizer.load_state(state);
    });
  };
  EXPECT_THAT(
      load({1, 0, 2, 3, 4, 5}),
      Each(HasSubstr("mismatch: DistributedOptimizer::load_state: rank 1 has \"bucket order "
                     "1 0 2 3 4 5\" where rank 0 has \"bucket order 0 1 2 3 4 5\"")));
  EXPECT_THAT(
      load({0, 0, 2, 3, 4, 5})[1],
      HasSubstr("the state has a bucket order of 6 parameters which is none of the 6 here"));
}

}  // namespace
}  // namespace bp
