// Rounds, in which hosts exchange weights (Sync): what they send, and what goes with them.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/ranks/torch/lines.h"
#include "tests/ranks/torch/sharded_training.h"
#include "tests/support/counted_ranks.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::Lines;
using test::Net;
using test::run_ranks;
using ::testing::HasSubstr;

test::RanksOptions hosts_of(const std::vector<int>& sizes) { return test::shared_on(sizes); }

// docs/acceptance.md, Rounds: A round of local SGD after each step is the reduction of each step,
// bit for bit.
TEST(Rounds, AfterEachStepAreTheReductionOfEachStep) {
  run_ranks(
      3,
      [](Communicator& world) {
        Lines plain(world, {});
        Lines each(world, {.every = 1, .outer = {.rate = 1}});
        EXPECT_FALSE(each.optimizer->has_rounds());
        for (int step = 0; step < 5; ++step) {
          for (Lines* line : {&plain, &each}) line->step(world.rank(), step, 1 + world.rank());
          EXPECT_TRUE(each.optimizer->is_common());
        }
        EXPECT_EQ(test::bits(plain.all), test::bits(each.all));
      },
      hosts_of({2, 1}));
}

// The parameters of two layers under AdamW, whose ranks divide the work of a host or do not.
std::string trained_by_rounds(Communicator& world, Shard shard, const Sync& sync) {
  const Net net;
  DistributedOptimizer optimizer(world, net.named(), test::adamw(net.trained()),
                                 {.first_bucket_bytes = 4000, .shard = shard, .sync = sync},
                                 DistributedOptimizer::Start::from_rank_0);
  Communicator host = world.split(world.topology().host());
  for (int step = 0; step < 6; ++step) {
    optimizer.backward(net.loss(10 * step + 100 * world.rank()), 1 + world.rank());
    (void)optimizer.clip_grad_norm(0.5);
    EXPECT_TRUE(optimizer.step());
    const std::string now = test::bits(net.trained());
    test::expect_equal_on_all_ranks(host, now);
    if (optimizer.is_common()) test::expect_equal_on_all_ranks(world, now);
  }
  optimizer.synchronise();
  optimizer.gather_state();
  test::expect_equal_on_all_ranks(world, test::state_bits(optimizer.optimizer(), net.trained()));
  std::string result = test::bits(net.trained());
  test::expect_equal_on_all_ranks(world, result);
  return result;
}

// docs/acceptance.md, Rounds: All ranks have the same weights after a round, bit for bit, also
// where ranks of a host divide its work.
TEST(Rounds, LeaveAllRanksWithTheSameBits) {
  for (const std::vector<int>& sizes : std::vector<std::vector<int>>{{3, 1}, {1, 2, 1}}) {
    run_ranks(
        4,
        [](Communicator& world) {
          for (const Sync& sync :
               {Sync{.every = 3}, Sync{.every = 3, .outer = kDiLoCo},
                Sync{.every = 2, .outer = kDiLoCo, .late = true}, Sync{.every = 4, .fragments = 3},
                Sync{.every = 3, .late = true, .fragments = 3}}) {
            const std::string plain = trained_by_rounds(world, Shard::none, sync);
            EXPECT_EQ(trained_by_rounds(world, Shard::host, sync), plain);
          }
        },
        hosts_of(sizes));
  }
}

// docs/acceptance.md, Rounds: A narrow wire rounds the difference alike on all hosts.
TEST(Rounds, TravelOnANarrowWire) {
  std::atomic<std::size_t> between_hosts = 0;
  test::run_counted_ranks(
      3,
      [&](Communicator& world) {
        const auto train = [&](DataType wire) {
          Net net;
          barrier(world);
          const std::size_t before = between_hosts;
          barrier(world);
          DistributedOptimizer optimizer(world, net.named(), test::sgd(net.trained()),
                                         {.wire = wire, .sync = {.every = 2}});
          for (int step = 0; step < 4; ++step) {
            optimizer.backward(net.loss(step + 10 * world.rank()), 1);
            optimizer.step();
          }
          test::expect_equal_on_all_ranks(world, test::bits(net.trained()));
          barrier(world);
          return std::pair(net, static_cast<double>(between_hosts - before));
        };
        const auto [exact, bytes] = train(DataType::f32);
        std::size_t compared = 0;  // expect_equal_on_all_ranks() sends the weights
        for (const at::Tensor& one : exact.trained()) compared += one.nbytes();
        const double rounds = bytes - static_cast<double>(compared);
        for (const auto& [wire, part] : {std::pair(DataType::bf16, 0.5), {DataType::i8, 0.27}}) {
          const auto [net, sent] = train(wire);
          EXPECT_LT(test::distance(net.trained(), exact.trained()), 1e-3);
          EXPECT_GT(test::distance(net.trained(), exact.trained()), 0);
          EXPECT_LT(sent - static_cast<double>(compared), (part + 0.02) * rounds);
        }
      },
      hosts_of({2, 1}),
      [&](int from, int to, std::size_t bytes) {
        if ((from == 2) != (to == 2)) between_hosts += bytes;
      });
}

// docs/acceptance.md, Rounds: Hosts of 3+1 ranks exchange the model once in a round, and nothing in
// the steps between.
TEST(Rounds, SendTheModelOnce) {
  std::atomic<std::size_t> sent = 0;
  const test::RanksOptions options = hosts_of({3, 1});
  test::run_counted_ranks(
      4,
      [&](Communicator& world) {
        const Net net;
        DistributedOptimizer optimizer(world, net.named(), test::sgd(net.trained()),
                                       {.sync = {.every = 4}});
        const auto step = [&](int number) {
          optimizer.backward(net.loss(number + 10 * world.rank()), 1);
          optimizer.step();
        };
        step(0);  // the ranks agree on the nominal weight
        std::size_t model = 0;
        for (const at::Tensor& one : net.trained()) model += one.nbytes();
        barrier(world);
        const std::size_t before = sent;
        step(1);
        step(2);
        const std::size_t after_steps = sent;
        EXPECT_EQ(after_steps, before) << "steps between rounds send nothing to other hosts";
        barrier(world);
        const std::size_t before_round = sent;
        const std::uint64_t counted = optimizer.round_counters().bytes;
        step(3);
        barrier(world);
        const std::size_t of_round = sent - before_round;
        // Each of the two hosts sends every element once, as a part or as a sum.
        EXPECT_LT(of_round, 2 * model + 5000);
        EXPECT_GE(of_round, 2 * model);
        const bool is_first = world.topology().local_rank() == 0;
        EXPECT_NEAR(static_cast<double>(optimizer.round_counters().bytes - counted),
                    is_first ? static_cast<double>(model) : 0, 1000);
      },
      options,
      [&](int from, int to, std::size_t bytes) {
        if ((from == 3) != (to == 3)) sent += bytes;
      });
}

// docs/acceptance.md, Rounds: Of word embeddings, the rows that had a gradient travel.
TEST(Rounds, ExchangeTheRowsThatHadAGradient) {
  run_ranks(
      3,
      [](Communicator& world) {
        constexpr std::int64_t kHeight = 1000;
        const at::Tensor words = at::zeros({kHeight, 4}).requires_grad_();
        const at::Tensor bias = at::zeros({4}).requires_grad_();
        const std::vector<at::Tensor> both = {words, bias};
        DistributedOptimizer optimizer(
            world, NamedTensors{{"words", words}, {"bias", bias}},
            std::make_unique<torch::optim::SGD>(both, torch::optim::SGDOptions(1)),
            {.nominal_weight = 1,
             .sparse_gradients = {"words"},
             .sync = {.every = 2, .outer = {.rate = 1, .momentum = 0.5}}});
        const std::vector<std::int64_t> used = {5, 7, 5};  // by rank; 5 and 7 are of host 0
        const auto step = [&] {
          const at::Tensor row =
              at::tensor({used[static_cast<std::size_t>(world.rank())]}, at::kLong);
          const at::Tensor rows = at::embedding(words, row, -1, false, true);
          optimizer.backward(rows.sum() + bias.sum(), 1);
          optimizer.step();
        };
        step();
        {
          const at::NoGradGuard no_grad;  // as weight decay does
          words.select(0, 9).add_(1 + world.topology().host());
        }
        step();
        // Host 0 has moved rows 5 and 7 by -1 each, with the weight 4 of 6; host 1 row 5 by -2.
        const auto at_row = [&](std::int64_t row) { return words[row][0].item<float>(); };
        EXPECT_NEAR(at_row(5), -(4.0 * 1 + 2.0 * 2) / 6, 1e-6);
        EXPECT_NEAR(at_row(7), -4.0 / 6, 1e-6);
        EXPECT_EQ(at_row(9), 0);
        if (world.topology().local_rank() == 0) {
          EXPECT_LT(optimizer.round_counters().bytes, 1000U);
        }
        test::expect_equal_on_all_ranks(world, test::bits({words, bias}));
      },
      hosts_of({2, 1}));
}

// docs/acceptance.md, Rounds: Rows that arrive late become what the whole matrix would.
TEST(Rounds, ExchangeRowsLate) {
  run_ranks(
      3,
      [](Communicator& world) {
        const auto trained = [&](bool is_sparse) {
          const at::Tensor words = at::zeros({50, 4}).requires_grad_();
          const at::Tensor bias = at::zeros({4}).requires_grad_();
          DistributedOptimizerOptions options{.nominal_weight = 1,
                                              .sync = {.every = 2, .outer = kDiLoCo, .late = true}};
          if (is_sparse) options.sparse_gradients = {"words"};
          DistributedOptimizer optimizer(
              world, NamedTensors{{"words", words}, {"bias", bias}},
              std::make_unique<torch::optim::SGD>(std::vector<at::Tensor>{words, bias},
                                                  torch::optim::SGDOptions(1)),
              options);
          for (int step = 0; step < 9; ++step) {
            const at::Tensor row = at::tensor({(7 * step + 11 * world.rank()) % 50}, at::kLong);
            optimizer.backward(at::embedding(words, row, -1, false, is_sparse).sum() + bias.sum(),
                               1);
            optimizer.step();
          }
          optimizer.synchronise();
          return test::bits({words, bias});
        };
        const std::string rows = trained(true);
        EXPECT_EQ(rows, trained(false));
        test::expect_equal_on_all_ranks(world, rows);
      },
      hosts_of({2, 1}));
}

// docs/acceptance.md, Rounds: By time, all ranks agree on the steps of the next round.
TEST(Rounds, ByTimeAreAgreedOn) {
  run_ranks(
      3,
      [](Communicator& world) {
        Lines line(world, {.interval = std::chrono::minutes(10)});
        EXPECT_TRUE(line.optimizer->ends_round()) << "the first step says how long steps take";
        line.step(world.rank(), 0, 1);
        EXPECT_TRUE(line.optimizer->is_common());
        EXPECT_FALSE(line.optimizer->ends_round());
        const std::int64_t steps = line.optimizer->state().steps_of_round;
        EXPECT_GT(steps, 1);
        test::expect_equal_on_all_ranks(world, std::to_string(steps));
      },
      hosts_of({2, 1}));
}

// docs/acceptance.md, Rounds: A rank's request to stop reaches all with the next round.
TEST(Rounds, TellAllRanksOfAStop) {
  run_ranks(
      3,
      [](Communicator& world) {
        Lines line(world, {.every = 3});
        if (world.rank() == 2) line.optimizer->request_stop();
        for (int step = 0; step < 3; ++step) line.step(world.rank(), step, 1);
        EXPECT_TRUE(line.optimizer->round().stop);
        for (int step = 3; step < 6; ++step) line.step(world.rank(), step, 1);
        EXPECT_FALSE(line.optimizer->round().stop);
      },
      hosts_of({2, 1}));
}

void expect_resumed_bits(const Sync& sync) {
  run_ranks(
      4,
      [&](Communicator& world) {
        const DistributedOptimizerOptions options{.sync = sync};
        const auto make_steps = [&](const Net& net, DistributedOptimizer& optimizer, int from) {
          for (int step = from; step < from + 4; ++step) {
            optimizer.backward(net.loss(10 * step + 100 * world.rank()), 1);
            optimizer.step();
          }
        };
        const Net net;
        DistributedOptimizer optimizer(world, net.named(), test::adamw(net.trained()), options);
        make_steps(net, optimizer, 0);
        if (!optimizer.is_common()) optimizer.synchronise();
        optimizer.gather_state();
        const DistributedOptimizer::State state = optimizer.state();
        const std::string inner = test::saved(optimizer.optimizer());
        std::vector<at::Tensor> weights;
        for (const at::Tensor& one : net.trained()) weights.push_back(one.detach().clone());
        NamedTensors momentum;  // as a checkpoint of rank 0 has it
        for (const auto& [name, one] : state.outer_momentum) {
          if (world.rank() == 0) momentum.emplace_back(name, one.clone());
        }
        make_steps(net, optimizer, 4);

        const Net again;
        for (std::size_t i = 0; i < weights.size(); ++i) {
          again.trained()[i].detach().copy_(weights[i]);
        }
        auto wrapped = test::adamw(again.trained());
        test::load(*wrapped, inner);
        DistributedOptimizer resumed(world, again.named(), std::move(wrapped), options);
        resumed.broadcast_parameters();
        DistributedOptimizer::State loaded = state;
        loaded.outer_momentum = momentum;
        loaded.bucket_order.resize(weights.size());  // a host of one rank needs none
        broadcast(world, view(loaded.bucket_order));
        resumed.load_state(loaded);
        make_steps(again, resumed, 4);
        EXPECT_EQ(test::bits(again.trained()), test::bits(net.trained()));
      },
      hosts_of({3, 1}));
}

// docs/acceptance.md, Rounds: A resumed optimizer goes on bit for bit from a common state.
TEST(Rounds, ResumeBitForBit) {
  expect_resumed_bits({.every = 2, .outer = kDiLoCo});
  expect_resumed_bits({.every = 3, .outer = kDiLoCo, .late = true, .fragments = 2});
}

// docs/acceptance.md, Rounds: Hosts that begin with other weights are told so in the first round.
TEST(Rounds, RefuseOtherWeightsToBeginWith) {
  run_ranks(
      2,
      [](Communicator& world) {
        const at::Tensor x = at::zeros({3}).add(world.rank()).requires_grad_();
        DistributedOptimizer optimizer(world, NamedTensors{{"x", x}},
                                       test::make_optimizer("sgd", {x}, 1), {.sync = {.every = 2}});
        try {
          for (int step = 0; step < 2; ++step) {
            optimizer.backward(x.sum(), 1);
            optimizer.step();
          }
          ADD_FAILURE() << "nothing was thrown";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::mismatch);
          EXPECT_THAT(error.what(), HasSubstr("had other parameters after the last round: begin "
                                              "with broadcast_parameters()"));
        }
      },
      hosts_of({1, 1}));
}

// docs/acceptance.md, Rounds: What does not go together with rounds is refused by name.
TEST(Rounds, RefuseWhatDoesNotGoTogether) {
  run_ranks(
      2,
      [](Communicator& world) {
        const std::pair<DistributedOptimizerOptions, const char*> refused[] = {
            {{.sync = {.every = 0}}, "give at least one step"},
            {{.sync = {.every = 2, .outer = {.rate = 0}}}, "give a positive rate"},
            {{.sync = {.every = 2, .outer = {.nesterov = true}}}, "nesterov without a momentum"},
            {{.wire = DataType::bf16, .error_feedback = true, .sync = {.every = 2}},
             "does not go with error_feedback"},
            {{.shard = Shard::optimizer, .sync = {.every = 2}},
             "does not go with shard = optimizer, by which all hosts divide each step: set it to "
             "host"},
            {{.sync = {.every = 3, .fragments = 4}}, "give 1 to 16, and not more than a round"},
            {{.sync = {.every = 50, .fragments = 17}}, "sync has 17 fragments: give 1 to 16"},
            {{.sync = {.fragments = 0}}, "sync has 0 fragments"}};
        for (const auto& [options, why] : refused) {
          const at::Tensor x = at::zeros({3}).requires_grad_();
          try {
            const DistributedOptimizer optimizer(world, NamedTensors{{"x", x}},
                                                 test::make_optimizer("sgd", {x}, 1), options);
            ADD_FAILURE() << why;
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            EXPECT_THAT(error.what(), HasSubstr(why));
          }
        }
        const at::Tensor x = at::zeros({3}).requires_grad_();
        DistributedOptimizer optimizer(world, NamedTensors{{"x", x}},
                                       test::make_optimizer("sgd", {x}, 1), {.sync = {.every = 2}});
        try {
          optimizer.step([] {});
          ADD_FAILURE() << "nothing was thrown";
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("step(closure) with rounds"));
        }
      },
      hosts_of({1, 1}));
}

}  // namespace
}  // namespace bp
