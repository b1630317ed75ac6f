// Ranks that have different numbers of batches: each calls join() after its last one, the others
// train on, and all get the parameters of the last.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::make_rows;
using test::Mlp;

// The weights are thirds of the nominal one, of which a half keeps three digits.
TEST(Uneven, WeightsKeepAllTheirDigitsBesideALossOfAHalf) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    test::run_ranks(3, [type](Communicator& world) {
      const Mlp model;
      DistributedOptimizer optimizer(world, model.named_parameters(),
                                     test::make_optimizer("sgd", model.parameters(), 0.1),
                                     {.micro_batches = 2});
      const at::Tensor weight = model.parameters().front();
      for (const int first : {1, 4}) {
        optimizer.backward(weight.sum().to(type), first + world.rank());
      }
      optimizer.reduce();
      EXPECT_LT((weight.grad() - 1).abs().max().item<double>(), 1e-6) << type;
    });
  }
}

// A Mlp, a parameter that no loss uses, which decay must not move, and an optimizer for both.
struct UnevenRun {
  UnevenRun() {
    parameters.emplace_back("unused", unused);
    std::vector<at::Tensor> tensors;
    for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
    optimizer = std::make_unique<torch::optim::AdamW>(
        tensors, torch::optim::AdamWOptions(0.01).weight_decay(0.5));
  }
  Mlp model;
  at::Tensor unused = at::ones({3}).requires_grad_();
  NamedTensors parameters = model.named_parameters();
  std::unique_ptr<torch::optim::AdamW> optimizer;
};

// Rank r has `fewest` + r batches.
void run_uneven_plainly(UnevenRun& run, int fewest, int ranks) {
  for (int step = 0; step < fewest + ranks - 1; ++step) {
    const int first = std::max(0, step - fewest + 1);  // the first rank that has another batch
    for (int rank = first; rank < ranks; ++rank) {
      const auto seed = static_cast<std::uint64_t>(8 * step + rank);
      (run.model.loss(make_rows(4, seed)) / (ranks - first)).backward();
    }
    run.optimizer->step();
    run.optimizer->zero_grad();
  }
}

// docs/acceptance.md, Ranks without data: A rank that has no more data joins, and the others
// continue. An average counts only the ranks that have not joined.
TEST(Uneven, RanksThatJoinLeaveTheOthersTheirSteps) {
  for (const int fewest : {0, 1, 2}) {
    for (const int ranks : {2, 3}) {
      UnevenRun plain;
      run_uneven_plainly(plain, fewest, ranks);
      test::run_ranks(
          ranks,
          [&](Communicator& world) {
            UnevenRun run;
            const at::Tensor buffer = at::full({2}, world.rank());
            DistributedOptimizer optimizer(world, run.parameters, std::move(run.optimizer),
                                           {.buffers = {{"buffer", buffer}}});
            for (int step = 0; step < fewest + world.rank(); ++step) {
              const auto seed = static_cast<std::uint64_t>(8 * step + world.rank());
              optimizer.backward(run.model.loss(make_rows(4, seed)), 4);
              EXPECT_TRUE(optimizer.step());
            }
            const int last = join(world);
            EXPECT_EQ(last, ranks - 1);
            optimizer.broadcast_parameters(last);
            EXPECT_LT(test::distance(run.model.parameters(), plain.model.parameters()), 1e-5)
                << "with at least " << fewest << " batches on " << ranks << " ranks";
            EXPECT_TRUE(run.unused.equal(at::ones({3})));
            optimizer.backward(run.model.loss(make_rows(4, 1)), 4);
            EXPECT_TRUE(optimizer.step()) << "with all ranks again";
            test::expect_equal_on_all_ranks(world, test::bits(run.model.parameters()));
            test::expect_equal_on_all_ranks(world, test::bits({buffer}));
          },
          {.communicator = {.timeout = std::chrono::milliseconds(20'000), .joinable = true}});
    }
  }
}

}  // namespace
}  // namespace bp
