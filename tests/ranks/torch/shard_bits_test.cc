// Ranks that divide parameters and the optimizer's state compute the same bits as ranks that do
// not, on the CPU and on devices (on_device.h).
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "bp/torch/elementwise.h"
#include "tests/ranks/torch/sharded_training.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp::test {
namespace {

using ::testing::HasSubstr;

class ShardsOf : public ::testing::TestWithParam<Make> {};
INSTANTIATE_TEST_SUITE_P(Optimizers,
                         ShardsOf,
                         ::testing::Values(&sgd,
                                           &adam,
                                           &adamw,
                                           &rmsprop,
                                           &adagrad,
                                           &lamb,
                                           &lion,
                                           &adadelta,
                                           &fused_sgd,
                                           &fused_adamw));

// docs/acceptance.md, Optimizer: Ranks of a host that share parameters and the optimizer's state
// compute the bits of ranks that do not.
// docs/features.md, Gradients: One copy of parameters and optimizer state for the ranks of a host |
// `--shard`, `DistributedOptimizerOptions::shard`
TEST_P(ShardsOf, HaveTheBitsOfNone) {
  for (int ranks = 1; ranks <= 4; ++ranks) expect_same(ranks, {.make = GetParam()});
}

TEST_P(ShardsOf, HaveTheBitsOfNoneWithAccumulationAndClipping) {
  expect_same(3, {.make = GetParam(), .options = {.micro_batches = 3}, .clip = 0.01});
}

// docs/acceptance.md, Optimizer: Each host of a job on several hosts keeps one copy of parameters
// and state, and computes the bits of ranks that do not.
TEST(Shards, HaveTheBitsOfNoneOnSeveralHosts) {
  const std::vector<std::vector<int>> jobs = {{2, 1}, {3, 1}, {1, 2}, {2, 2}, {2, 1, 1}};
  for (const std::vector<int>& hosts : jobs) {
    expect_same_on(hosts, {.options = {.micro_batches = 2}, .clip = 0.01});
  }
  expect_same_on({2, 1},
                 {.make = adam, .options = {.wire = DataType::bf16, .error_feedback = true}});
  for (const std::vector<int>& hosts : {std::vector{2, 1}, std::vector{2, 1, 1}}) {
    expect_same_on(hosts, {.make = lamb, .clip = 0.01});
  }
}

// Trains with gradients that are small multiples of a power of two: a rank lacks one in some
// micro-batches, and makes fewer of them in some windows.
std::string train_dyadic(Communicator& world, Shard shard, bool each) {
  const auto weight = [](std::int64_t rows) {
    return at::full({rows, 1000}, 0.5).to(tensor_device()).requires_grad_();
  };
  const at::Tensor first = weight(70);
  const at::Tensor second = weight(40);
  const at::Tensor third = weight(3);
  const Parameters all = {first, second, third};
  const bool by_layer = shard == Shard::parameters;
  DistributedOptimizerOptions options{.micro_batches = 3,
                                      .first_bucket_bytes = 4000,
                                      .bucket_bytes = 40000,
                                      .nominal_weight = 16,
                                      .shard = shard,
                                      .reduce_each = each};
  if (by_layer) options.layers = {{"first"}, {"second"}};
  DistributedOptimizer optimizer(world, {{"first", first}, {"second", second}, {"third", third}},
                                 plain_sgd(all), options);
  for (int window = 0; window < 4; ++window) {
    for (int batch = 0; batch < 3; ++batch) {
      const bool is_missing = window == 2 && world.rank() == 0 && batch > 0;
      if (is_missing && !by_layer) break;
      for (const std::size_t layer : {0, 1}) optimizer.enter_layer(layer);
      const double one = (1 + batch + 2 * world.rank() + window) / 64.0;
      at::Tensor loss = (first * one).sum() + (third * one).sum() * 2;
      if ((batch + world.rank()) % 2 == 0) loss = loss + (second * one).sum();
      optimizer.backward(loss, is_missing ? 0 : 1);
    }
    EXPECT_TRUE(optimizer.step());
  }
  optimizer.gather_parameters();
  return bits(all);
}

// docs/acceptance.md, Optimizer: Ranks that make different numbers of micro-batches in a window,
// some of them none, compute the same bits with shards and without.
TEST(Shards, HaveTheBitsOfNoneInPartialWindows) {
  for (const std::vector<int>& hosts : {std::vector{5}, {3, 2}, {4, 1}}) {
    expect_same_on(hosts, {.options = {.micro_batches = 4}, .clip = 0.01, .is_uneven = true});
  }
}

// The gradients have few bits, so any order of additions is exact.
// docs/features.md, Gradients: Sums of each micro-batch at once, in the memory of one |
// `--reduce-each`, `DistributedOptimizerOptions::reduce_each`
TEST(Shards, SumsOfEachMicroBatchAreThoseOfTheWindow) {
  for (const std::vector<int>& hosts : {std::vector{3}, {2, 1}, {1, 1}, {2, 1, 1}}) {
    run_ranks(
        std::accumulate(hosts.begin(), hosts.end(), 0),
        [](Communicator& world) {
          const std::string whole = train_dyadic(world, Shard::none, false);
          for (const Shard shard : {Shard::gradients, Shard::parameters}) {
            if (!is_possible(Shard::gradients)) continue;  // on a device
            EXPECT_TRUE(train_dyadic(world, shard, false) == whole) << name_of(shard);
            EXPECT_TRUE(train_dyadic(world, shard, true) == whole) << name_of(shard);
          }
        },
        shared_on(hosts));
  }
}

// docs/acceptance.md, Optimizer: Hosts that bring each other the parameters of a layer when a pass
// enters it compute the bits of ranks that share nothing.
TEST(Shards, HaveTheBitsOfNoneByLayer) {
  for (const std::vector<int>& hosts : {std::vector{1, 1}, {2, 1}, {1, 3}}) {
    for (const int micro_batches : {1, 3}) {
      for (const bool has_fillers : {false, true}) {
        expect_same_on(hosts, {.options = {.micro_batches = micro_batches},
                               .clip = 0.01,
                               .by_layer = true,
                               .has_fillers = has_fillers});
      }
    }
  }
  expect_same_on({2, 1}, {.options = {.shard_shares = {0, 1, 3}}, .by_layer = true});
}

TEST_P(ShardsOf, HaveTheBitsOfNoneByLayer) {
  expect_same_on({2, 1}, {.make = GetParam(), .by_layer = true});
}

TEST(Shards, HaveTheBitsOfNoneOnANarrowWire) {
  for (const DataType wire : {DataType::f16, DataType::bf16}) {
    for (const bool feedback : {true, false}) {
      expect_same(2, {.options = {.wire = wire, .error_feedback = feedback}, .clip = 0.01});
    }
    expect_same(2, {.make = lamb, .options = {.wire = wire}});
  }
}

TEST(Shards, SkipTheSameWindowsThatOverflow) {
  // The scale overflows f16 until it has halved often enough.
  run_ranks(
      2,
      [](Communicator& world) {
        std::vector<std::string> trained;
        std::vector<std::vector<bool>> steps;
        std::vector<Shard> stages = divided_stages();
        stages.insert(stages.begin(), Shard::none);
        for (const Shard shard : stages) {
          steps.emplace_back();
          Net net;
          DistributedOptimizer optimizer(
              world, net.named(), adamw(net.trained()),
              {.wire = DataType::f16, .loss_scaling = {.initial = 0x1p40}, .shard = shard});
          for (int window = 0; window < 20; ++window) {
            // The infinity is in one rank's part alone.
            optimizer.backward(net.loss(window + world.rank()), 1);
            steps.back().push_back(optimizer.step());
          }
          trained.push_back(bits(net.trained()));
        }
        EXPECT_THAT(trained, ::testing::Each(trained[0]));
        EXPECT_THAT(steps, ::testing::Each(steps[0]));
        EXPECT_THAT(steps[0], ::testing::Contains(false));
        EXPECT_THAT(steps[0], ::testing::Contains(true));
      },
      kShared);
}

// Between steps the program sees the wrapped optimizer as if it were alone.
// docs/acceptance.md, Optimizer: The state of an optimizer whose work is divided is saved whole.
TEST_P(ShardsOf, ASavedStateIsWholeAndLoadsIntoAPlainOptimizer) {
  run_ranks(
      3,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), GetParam()(net.trained()),
                                       {.shard = Shard::optimizer});
        for (int window = 0; window < 2; ++window) {
          optimizer.backward(net.loss(window), 1);
          EXPECT_TRUE(optimizer.step());
        }
        if (!tensor_device().is_cpu()) optimizer.gather_state();
        if (!is_gathered(world)) return;
        const std::string bytes = saved(optimizer.optimizer());
        Net copy;
        const auto plain = GetParam()(copy.trained());
        load(*plain, bytes);
        EXPECT_EQ(state_bits(*plain, copy.trained()),
                  state_bits(optimizer.optimizer(), net.trained()));
      },
      kShared);
}

// Trains three windows with `before`, goes on with `after`, and returns the parameters.
std::string gone_on(Communicator& world, Make make, Shard before, Shard after) {
  Net net;
  std::string bytes;
  for (const Shard shard : {before, after}) {
    DistributedOptimizer optimizer(world, net.named(), make(net.trained()),
                                   {.nominal_weight = 2, .shard = shard});
    if (!bytes.empty() && world.rank() == 0) load(optimizer.optimizer(), bytes);
    optimizer.broadcast_parameters();
    for (int window = 0; window < 3; ++window) {
      optimizer.backward(net.loss(window + 5 * world.rank()), 1);
      EXPECT_TRUE(optimizer.step());
    }
    optimizer.gather_state();
    bytes = saved(optimizer.optimizer());
  }
  return bits(net.trained());
}

// A run continues with the parameters and the state of a run with another option.
TEST_P(ShardsOf, GoOnFromAPlainRunAndTheOtherWayRound) {
  const std::vector<std::pair<Shard, Shard>> changes = {{Shard::none, Shard::optimizer},
                                                        {Shard::optimizer, Shard::none},
                                                        {Shard::host, Shard::optimizer},
                                                        {Shard::optimizer, Shard::host},
                                                        {Shard::optimizer, Shard::optimizer}};
  for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{2}, {2, 1}}) {
    run_ranks(
        std::accumulate(hosts.begin(), hosts.end(), 0),
        [&](Communicator& world) {
          const std::string plain = gone_on(world, GetParam(), Shard::none, Shard::none);
          for (const auto& [before, after] : changes) {
            if (!is_possible(before) || !is_possible(after)) continue;
            EXPECT_TRUE(plain == gone_on(world, GetParam(), before, after))
                << hosts.size() << " hosts, " << name_of(before) << ", then " << name_of(after);
          }
        },
        shared_on(hosts));
  }
}

// docs/acceptance.md, Optimizer: A state that all ranks load takes the place of what each owns.
TEST(Shards, AStateThatAllRanksLoadIsKept) {
  run_ranks(
      3,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), adam(net.trained()),
                                       {.nominal_weight = 3, .shard = Shard::optimizer});
        const auto make_step = [&](int window) {
          optimizer.backward(net.loss(window), 1);
          EXPECT_TRUE(optimizer.step());
        };
        make_step(0);
        optimizer.gather_state();
        const std::string wanted =
            is_gathered(world) ? state_bits(optimizer.optimizer(), net.trained()) : "";
        std::string bytes = world.rank() == 0 ? saved(optimizer.optimizer()) : "";
        broadcast_object(world, bytes);
        make_step(1);
        load(optimizer.optimizer(), bytes);
        optimizer.gather_state();
        if (!is_gathered(world)) return;
        EXPECT_TRUE(wanted == state_bits(optimizer.optimizer(), net.trained()));
      },
      shared_on({2, 1}));
}

// docs/features.md, Gradients: Shares of the state by the memory of ranks | `--shard-shares`,
// `DistributedOptimizerOptions::shard_shares`
// docs/acceptance.md, Optimizer: Ranks own as much of the state as their shares say, perhaps
// nothing, and compute the same bits.
TEST(Shards, MayBeUnequal) {
  for (const std::vector<double>& shares :
       std::vector<std::vector<double>>{{0.7, 0.2, 0.1}, {0, 3, 1}}) {
    for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{3}, {2, 1}}) {
      expect_same_on(hosts, {.options = {.shard_shares = shares}, .clip = 0.01});
    }
  }
}

std::unique_ptr<Optimizers> damped_adamw(const Parameters& p) {
  return of<optim::AdamW>(p, optim::AdamWOptions(0.001).eps(1e-6));
}

// Between three hosts. `bound`: of the difference, as a part of the norm.
void expect_close(Make make, double bound) {
  run_ranks(
      4,
      [=](Communicator& world) {
        std::vector<std::vector<at::Tensor>> trained;
        for (const Shard shard : {Shard::none, Shard::optimizer, divided_stages().back()}) {
          Net net;
          DistributedOptimizer optimizer(world, net.named(), make(net.trained()), {.shard = shard});
          for (int window = 0; window < 20; ++window) {
            optimizer.backward(net.loss(window + 30 * world.rank()), 1);
            EXPECT_TRUE(optimizer.step());
          }
          expect_equal_on_all_ranks(world, bits(net.trained()));
          trained.emplace_back();
          for (const at::Tensor& one : net.trained())
            trained.back().push_back(one.detach().clone());
        }
        for (std::size_t i = 0; i < trained[0].size(); ++i) {
          const double norm = trained[0][i].norm().item<double>();
          for (const auto& other : {trained[1][i], trained[2][i]}) {
            EXPECT_LE((other - trained[0][i]).norm().item<double>(), bound * norm);
          }
        }
      },
      shared_on({2, 1, 1}));
}

// docs/acceptance.md, Optimizer: Ranks of three hosts with shards stay within 2e-7 of each norm
// after 20 steps of SGD, and within 2e-5 with AdamW.
TEST(Shards, AreCloseToNoneWhereSumsAreMadeInAnotherOrder) {
  expect_close(&plain_sgd, 2e-7);
  expect_close(&damped_adamw, 2e-5);
}

std::string train_frozen(Communicator& world, Make make, Shard shard) {
  Net net;
  DistributedOptimizer optimizer(world, net.named(), make({net.first, net.bias}), {.shard = shard});
  for (int window = 0; window < 6; ++window) {
    net.bias.requires_grad_(window != 2 && window != 3);
    if (window == 4) {
      optimizer.optimizer().add_param_group(optim::OptimizerParamGroup({net.second}));
      optimizer.optimizer().param_groups().back().options().set_lr(0.02);
    }
    optimizer.backward(net.loss(window), 1);
    EXPECT_TRUE(optimizer.step());
  }
  return bits(net.trained());
}

TEST(Shards, FreezingAndANewGroupChangeNoBits) {
  for (const Make make : {&adamw, &lamb}) {
    run_ranks(
        2,
        [make](Communicator& world) {
          const std::string plain = train_frozen(world, make, Shard::none);
          for (const Shard shard : divided_stages()) {
            EXPECT_TRUE(train_frozen(world, make, shard) == plain) << name_of(shard);
          }
        },
        kShared);
  }
}

// An optimizer of the program's, with state of its own kind.
struct OwnState : optim::OptimizerCloneableParamState<OwnState> {
  at::Tensor sum;
};
class OwnOptimizer : public optim::Optimizer, public Elementwise {
 public:
  explicit OwnOptimizer(const Parameters& parameters)
      : Optimizer({optim::OptimizerParamGroup(parameters)},
                  std::make_unique<optim::SGDOptions>(0.1)) {}
  at::Tensor step(LossClosure /*closure*/) override {
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : param_groups()[0].params()) {
      if (!parameter.grad().defined()) continue;
      auto& state = state_[parameter.unsafeGetTensorImpl()];
      if (!state) state = std::make_unique<OwnState>();
      auto& own = static_cast<OwnState&>(*state);
      // A new tensor in each step.
      own.sum = own.sum.defined() ? own.sum + parameter.grad() : parameter.grad().clone();
      parameter.sub_(own.sum, 0.1);
    }
    return {};
  }
  [[nodiscard]] std::vector<at::Tensor*> tensors_of(
      optim::OptimizerParamState& state) const override {
    return {&static_cast<OwnState&>(state).sum};
  }
};

TEST(Shards, AnOptimizerOfOnesOwnSaysThatItIsElementwise) {
  run_ranks(
      3,
      [](Communicator& world) {
        std::vector<std::string> trained;
        const Shard divided = tensor_device().is_cpu() ? Shard::automatic : Shard::optimizer;
        for (const Shard shard : {Shard::none, divided}) {
          Net net;
          DistributedOptimizer optimizer(
              world, net.named(), std::make_unique<OwnOptimizer>(net.trained()), {.shard = shard});
          EXPECT_EQ(optimizer.shard(), shard == Shard::none ? Shard::none : Shard::optimizer);
          for (int window = 0; window < 3; ++window) {
            optimizer.backward(net.loss(window + world.rank()), 1);
            EXPECT_TRUE(optimizer.step());
          }
          trained.push_back(bits(net.trained()));
        }
        EXPECT_EQ(trained[0], trained[1]);
      },
      kShared);
}

TEST(Shards, AReplacedGradientIsRefused) {
  run_ranks(
      2,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), adamw(net.trained()),
                                       {.shard = Shard::optimizer});
        optimizer.backward(net.loss(1), 1);
        optimizer.reduce();
        net.bias.mutable_grad() = at::zeros({700}, tensor_device());
        try {
          (void)optimizer.clip_grad_norm(1);
          ADD_FAILURE() << "no rank has all of the gradient";
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("was replaced after reduce()"));
        }
      },
      kShared);
}

}  // namespace
}  // namespace bp::test
