// Gradients of embeddings that consist of a few rows: summed as rows, or as the whole matrix if
// that is less.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::int64_t kWidth = 4;

// An embedding of zeros beside a dense parameter. The optimizer is SGD with rate 1.
struct Words {
  Words(Communicator& comm, std::int64_t height, DistributedOptimizerOptions options = {})
      : world(comm),
        words(at::zeros({height, kWidth}).requires_grad_()),
        bias(at::zeros({kWidth}).requires_grad_()) {
    options.sparse_gradients = {"words"};
    options.nominal_weight = options.nominal_weight > 0 ? options.nominal_weight : 1;
    optimizer = std::make_unique<DistributedOptimizer>(
        world, NamedTensors{{"words", words}, {"bias", bias}},
        test::make_optimizer("sgd", {words, bias}, 1), options);
  }
  // The gradient of each row is `factor` times the number of its uses.
  void backward(const std::vector<std::int64_t>& used, float factor, double weight = 1) {
    const at::Tensor rows = at::embedding(words, at::tensor(used, at::kLong), -1, false, true);
    optimizer->backward((rows.sum() + bias.sum()) * factor, weight);
  }
  [[nodiscard]] std::vector<float> column() const {  // the first column of the matrix
    std::vector<float> all;
    const at::Tensor first = words.detach().select(1, 0).contiguous();
    for (std::int64_t i = 0; i < first.numel(); ++i) all.push_back(first[i].item<float>());
    return all;
  }

  Communicator& world;
  at::Tensor words;
  at::Tensor bias;
  std::unique_ptr<DistributedOptimizer> optimizer;
};

std::vector<float> with(std::size_t height, const std::vector<std::pair<std::size_t, float>>& set) {
  std::vector<float> all(height, 0);
  for (const auto& [i, value] : set) all[i] = value;
  return all;
}

// docs/acceptance.md, Values: The sparse gradient of an embedding is reduced as rows.
TEST(Sparse, RowsAreAddedUpExactly) {
  run_ranks(3, [](Communicator& world) {
    Words rank(world, 1000, {.micro_batches = 2});
    const std::vector<std::vector<std::int64_t>> used = {{5, 999, 5}, {5, 0}, {}};
    const auto& mine = used[static_cast<std::size_t>(world.rank())];
    if (!mine.empty()) rank.backward(mine, 2, 2);
    if (world.rank() == 1) rank.backward({7}, 8, 4);
    rank.optimizer->reduce();
    EXPECT_EQ(rank.words.grad().layout(), c10::kSparse);
    EXPECT_EQ(rank.words.grad()._nnz(), 4) << "the gradient must hold only the rows that were used";
    EXPECT_TRUE(rank.optimizer->step());
    // Row 5: 2 x (2 + 2) of rank 0 and 2 x 2 of rank 1, divided by the weight 2 + 2 + 4.
    EXPECT_EQ(rank.column(), with(1000, {{0, -0.5F}, {5, -1.5F}, {7, -4}, {999, -0.5F}}));
    test::expect_equal_on_all_ranks(world, test::bits({rank.words, rank.bias}));
  });
}

// docs/acceptance.md, Values: The sparse gradient of an embedding is reduced as a whole matrix if
// that is smaller.
TEST(Sparse, SendsTheWholeMatrixIfThatIsLess) {
  run_ranks(2, [](Communicator& world) {
    Words rank(world, 3);
    const std::uint64_t before = world.counters().operations;
    rank.backward({0, 1, 2, 2}, 1);
    rank.optimizer->reduce();
    EXPECT_EQ(world.counters().operations - before, 3U)
        << "the collectives must be a bucket, the counts and the matrix";
    EXPECT_EQ(rank.words.grad().layout(), c10::kSparse);
    rank.optimizer->step();
    EXPECT_EQ(rank.column(), (std::vector<float>{-1, -1, -2}));
  });
}

TEST(Sparse, WithoutRowsNothingIsSent) {
  run_ranks(2, [](Communicator& world) {
    Words rank(world, 100);
    rank.optimizer->backward(rank.bias.sum(), 1);
    EXPECT_TRUE(rank.optimizer->step());
    EXPECT_THAT(rank.column(), Each(0));
    rank.backward({3}, 1);  // the next window works as any other
    rank.optimizer->step();
    EXPECT_EQ(rank.column(), with(100, {{3, -1}}));
  });
}

TEST(Sparse, ClipsAndScalesWithTheOthers) {
  const auto body = [](Communicator& world) {
    Words rank(world, 100);
    rank.backward({3}, 3);  // eight elements of 3: the norm is sqrt(72)
    EXPECT_NEAR(rank.optimizer->clip_grad_norm(std::sqrt(72.0) / 3), std::sqrt(72.0), 1e-9);
    rank.optimizer->step();
    EXPECT_NEAR(rank.column()[3], -1, 1e-5);
    EXPECT_NEAR(rank.bias[0].item<float>(), -1, 1e-5);
  };
  run_ranks(1, body);
  run_ranks(2, body);
  run_ranks(2, body, {.wire = test::Wire::shm});
}

TEST(Sparse, OverflowInARowSkipsTheStepOnAll) {
  run_ranks(2, [](Communicator& world) {
    Words rank(world, 100, {.loss_scaling = {.initial = 4}});
    rank.backward({3}, world.rank() == 1 ? std::numeric_limits<float>::infinity() : 1.F);
    EXPECT_FALSE(rank.optimizer->step());
    EXPECT_THAT(rank.column(), Each(0));
  });
}

TEST(Sparse, FrozenOnOneRankIsAMismatch) {
  const auto ends = test::try_ranks(2, [](Communicator& world) {
    Words rank(world, 100);
    if (world.rank() == 0) {
      rank.backward({3}, 1);
    } else {
      rank.words.set_requires_grad(false);
      rank.optimizer->backward(rank.bias.sum(), 1);
    }
    rank.optimizer->step();
  });
  EXPECT_THAT(ends, Each(HasSubstr("mismatch: DistributedOptimizer: parameter words is frozen on "
                                   "rank 1 and not on rank 0")));
}

// docs/acceptance.md, Optimizer: The numbers of rows that are announced travel during the passes,
// and the sums are the same.
TEST(Sparse, AnnouncedRowsTravelDuringThePasses) {
  const std::vector<std::vector<std::int64_t>> used = {{5, 999, 5}, {5, 0}, {}};
  for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{3}, {2, 1}}) {
    const auto trained = [&](Communicator& world, bool announces) {
      const auto& mine = used[static_cast<std::size_t>(world.rank())];
      Words rank(world, 1000, {.micro_batches = 2});
      const std::uint64_t before = world.counters().operations;
      std::vector<std::int64_t> rows = mine;
      rows.push_back(3);  // of which no rank has a gradient
      if (announces) {
        rank.optimizer->announce_rows("words", rows);
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (world.counters().operations == before &&
               std::chrono::steady_clock::now() < deadline) {
          std::this_thread::yield();
        }
        EXPECT_EQ(world.counters().operations, before + 1) << "before any backward()";
      }
      if (!mine.empty()) rank.backward(mine, 2, 2);
      rank.optimizer->reduce();
      // Of the first window's weight, and of the bucket; then of the rows' numbers and of the rows.
      EXPECT_EQ(world.counters().operations, before + 1 + (announces ? 2 : 3));
      EXPECT_TRUE(rank.optimizer->step());
      return rank.column();
    };
    run_ranks(3,
              [&](Communicator& world) { EXPECT_EQ(trained(world, true), trained(world, false)); },
              {.local_sizes = hosts});
  }
}

TEST(Sparse, AnnouncementsThatCannotBeRightAreRefused) {
  const auto refusal = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  run_ranks(2, [&](Communicator& world) {
    const auto refused = [&](const std::string& name, std::vector<std::int64_t> rows) {
      Words rank(world, 1000);
      return refusal([&] { rank.optimizer->announce_rows(name, rows); });
    };
    EXPECT_EQ(refused("bias", {}),
              "DistributedOptimizer: announce_rows() names bias, which sparse_gradients does not "
              "name");
    EXPECT_EQ(refused("words", {7, 1000}),
              "DistributedOptimizer: announce_rows() with row 1000 of words, which has 1000");
    Words twice(world, 1000);
    twice.optimizer->announce_rows("words", {});
    EXPECT_THAT(refusal([&] { twice.optimizer->announce_rows("words", {}); }),
                HasSubstr("announce_rows() twice for words"));
    Words late(world, 1000, {.micro_batches = 2});
    late.backward({1}, 1);
    EXPECT_THAT(refusal([&] { late.optimizer->announce_rows("words", {}); }),
                HasSubstr("announce_rows in the middle of a window"));
    Words other(world, 1000);
    const std::vector<std::int64_t> rows = {4};
    other.optimizer->announce_rows("words", rows);
    other.backward({4, 6}, 1);
    EXPECT_EQ(
        refusal([&] { other.optimizer->reduce(); }),
        "DistributedOptimizer: the gradient of words has row 6, which announce_rows() did not "
        "name in this window");
  });
}

}  // namespace
}  // namespace bp
