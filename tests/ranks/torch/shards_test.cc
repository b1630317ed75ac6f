// What ranks of a host share on the CPU. shard_bits_test.cc compares the bits.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "bp/torch/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/ranks/torch/sharded_training.h"
#include "tests/support/run_ranks.h"
#include "tests/support/tensor_memory.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp::test {
namespace {

using ::testing::HasSubstr;

std::string try_share(Communicator& world, const std::vector<at::Tensor>& tensors) {
  try {
    share_constants(world, tensors);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Shards, KeepOneCopyOfParametersAndState) {
  run_ranks(
      2,
      [](Communicator& world) {
        Net net;
        auto optimizer = std::make_unique<DistributedOptimizer>(
            world, net.named(), adamw(net.trained()),
            DistributedOptimizerOptions{.shard = Shard::optimizer});
        optimizer->backward(net.loss(1), 1);
        EXPECT_TRUE(optimizer->step());
        const at::NoGradGuard no_grad;
        const std::string before = bits(net.trained());
        barrier(world);
        if (world.rank() == 0) net.bias[3] = 7;
        barrier(world);
        EXPECT_EQ(net.bias[3].item<float>(), 7) << "one rank writes, and all see it";
        barrier(world);
        optimizer.reset();
        barrier(world);
        if (world.rank() == 0) net.bias[3] = 8;
        barrier(world);
        EXPECT_EQ(net.bias[3].item<float>(), world.rank() == 0 ? 8 : 7)
            << "each rank has its own after the optimizer's end";
      },
      kShared);
}

// docs/acceptance.md, Optimizer: Ranks of several hosts that divide the state keep the part of
// their host in memory.
TEST(Shards, AHostHasNoMemoryForTheStateOfOthers) {
  RanksOptions options = kShared;
  options.local_sizes = {1, 1};
  run_ranks(
      2,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), adamw(net.trained()),
                                       {.shard = Shard::optimizer});
        const auto moment = [&] {
          const auto found = optimizer.optimizer().state().find(net.first.unsafeGetTensorImpl());
          return static_cast<optim::AdamWParamState&>(*found->second).exp_avg();
        };
        for (int window = 0; window < 3; ++window) {
          optimizer.backward(net.loss(window), 1);
          EXPECT_TRUE(optimizer.step());
          const std::int64_t part = moment().numel();
          EXPECT_GT(part, net.first.numel() / 4);
          EXPECT_LT(part, net.first.numel() * 3 / 4);
          const int root = window % 2;
          optimizer.gather_state(root);
          const bool is_root = world.rank() == root;
          EXPECT_EQ(moment().numel(), is_root ? net.first.numel() : part);
          optimizer.backward(net.loss(window), 1);
          EXPECT_TRUE(optimizer.step());
          EXPECT_EQ(moment().storage().nbytes(), part * sizeof(float));
        }
        optimizer.broadcast_parameters();
        EXPECT_LT(moment().storage().nbytes(), net.first.nbytes() * 3 / 4);
      },
      options);
}

// docs/acceptance.md, Optimizer: The ranks of a host keep a teacher's weights once, with the values
// of rank 0.
TEST(Shards, ConstantsAreOnceOnAHost) {
  RanksOptions options = kShared;
  options.local_sizes = {2, 1};
  run_ranks(
      3,
      [](Communicator& world) {
        const at::NoGradGuard no_grad;
        const float value = world.rank() == 0 ? 4 : 9;
        const at::Tensor matrix = at::full({40, 50}, value).t();
        const at::Tensor vector = at::full({3}, value + 1).requires_grad_();
        const at::Tensor view = matrix.detach();
        share_constants(world, {matrix, vector});
        EXPECT_EQ(matrix.sizes(), at::IntArrayRef({50, 40}));
        EXPECT_EQ(matrix.stride(0), 1);
        EXPECT_TRUE(matrix.eq(4).all().item<bool>());
        EXPECT_TRUE(vector.eq(5).all().item<bool>());
        EXPECT_TRUE(vector.requires_grad());
        EXPECT_TRUE(view.eq(value).all().item<bool>()) << "it keeps the memory that it had";
        barrier(world);
        if (world.rank() == 1) matrix.fill_(7);
        barrier(world);
        EXPECT_EQ(matrix[49][39].item<float>(), world.rank() == 2 ? 4 : 7);
        EXPECT_THAT(try_share(world, {vector, matrix.narrow(0, 0, 2)}),
                    HasSubstr("share_constants: tensor 1 is not a dense one on the CPU"));
      },
      options);
}

std::string train_words(Communicator& world, Make make, Shard shard) {
  Net net;
  at::Tensor words = at::zeros({50, 300}).requires_grad_();
  NamedTensors named = net.named();
  named.emplace_back("words", words);
  Parameters trained = net.trained();
  trained.push_back(words);
  DistributedOptimizer optimizer(world, named, make(trained),
                                 {.sparse_gradients = {"words"}, .shard = shard});
  for (int window = 0; window < 3; ++window) {
    const at::Tensor used =
        at::embedding(words, at::tensor({window, 7 + world.rank()}, at::kLong), -1, false, true);
    optimizer.backward(net.loss(window) + (used * used + used).sum(), 1);
    (void)optimizer.clip_grad_norm(0.5);
    EXPECT_TRUE(optimizer.step());
  }
  expect_equal_on_all_ranks(world, bits(trained));
  return bits(trained);
}

// docs/features.md, Gradients: Parameters that hosts divide | `--shard parameters`,
// `DistributedOptimizer::enter_layer`
// docs/acceptance.md, Optimizer: With `parameters` a host has the parts of other hosts of the layer
// that a pass is in, and of no other one.
TEST(Shards, AHostHasNoMemoryForTheLayersOfOthers) {
  RanksOptions options = kShared;
  options.local_sizes = {1, 1};
  run_ranks(
      2,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), adamw(net.trained()),
                                       {.shard = Shard::parameters, .layers = Net::layers()});
        const auto is_whole = [](const at::Tensor& tensor) {
          return bytes_in_memory(tensor) > tensor.nbytes() * 97 / 100;
        };
        const auto enter = [&](std::size_t layer) { optimizer.enter_layer(layer); };
        for (int window = 0; window < 3; ++window) {
          const at::Tensor loss = net.loss(window, enter);
          if (window > 0) {
            EXPECT_FALSE(is_whole(net.first));
            EXPECT_TRUE(is_whole(net.second));
          }
          optimizer.backward(loss, 1);
          EXPECT_TRUE(optimizer.step());
          EXPECT_FALSE(is_whole(net.second));
          EXPECT_FALSE(is_whole(net.first) && window > 0);  // it is on its way
        }
        optimizer.gather_parameters();
        EXPECT_TRUE(is_whole(net.first));
        EXPECT_TRUE(is_whole(net.second));
        optimizer.backward(net.loss(3, enter), 1);
        EXPECT_TRUE(optimizer.step());
        EXPECT_FALSE(is_whole(net.second));
      },
      options);
}

// Twenty layers, each with a bucket of its own, and a head of which only rank 0 has a gradient.
// `pass` is called before a forward or backward pass goes through a layer.
void train_with_a_missing_gradient(
    Shard shard, bool by_layer, const std::function<at::Tensor(Communicator&, at::Tensor)>& pass) {
  run_ranks(
      2,
      [&](Communicator& world) {
        constexpr std::size_t kLayers = 20;
        Communicator own = world.split(0);  // for what the program itself does
        std::vector<std::vector<std::string>> layers;
        NamedTensors named;
        Parameters all;
        for (std::size_t i = 0; i < kLayers; ++i) {
          all.push_back(numbers({30, 30}, static_cast<double>(i)).requires_grad_());
          named.emplace_back(concat("layer.", i), all.back());
          if (by_layer) layers.push_back({named.back().first});
        }
        all.push_back(numbers({30}, 99).requires_grad_());
        named.emplace_back("head", all.back());
        DistributedOptimizer optimizer(
            world, named, adamw(all),
            {.first_bucket_bytes = 64, .bucket_bytes = 64, .shard = shard, .layers = layers});
        for (int window = 0; window < 3; ++window) {
          at::Tensor x = numbers({2, 30}, window);
          for (std::size_t i = 0; i < kLayers; ++i) {
            optimizer.enter_layer(i);
            x = pass(own, x.matmul(all[i]).add(1));
            x.register_hook([&optimizer, i](const at::Tensor&) { optimizer.enter_layer(i); });
          }
          if (world.rank() == 0) x = x * all.back();
          optimizer.backward(x.square().mean(), 1);
          EXPECT_TRUE(optimizer.step());
        }
      },
      shared_on({1, 1}));
}

// Ranks that wait for sums in the middle of a backward pass would wait for one that waits for them
// to enter a layer.
TEST(Shards, ARankWithoutAGradientKeepsNobodyFromEnteringLayers) {
  train_with_a_missing_gradient(Shard::parameters, true,
                                [](Communicator& /*own*/, const at::Tensor& x) { return x; });
}

// The same in a collective of the program's own backward pass. It takes five seconds, once.
TEST(Shards, ARankWithoutAGradientKeepsNobodyFromItsOwnCollectives) {
  train_with_a_missing_gradient(
      Shard::gradients, false,
      [](Communicator& own, const at::Tensor& x) { return all_reduced(own, x); });
}

TEST(Shards, LayersThatCannotBeAreRefusedByName) {
  run_ranks(
      2,
      [](Communicator& world) {
        const auto refusal = [&](const std::vector<std::vector<std::string>>& layers) {
          const Net net;
          try {
            const DistributedOptimizer optimizer(world, net.named(), adamw(net.trained()),
                                                 {.shard = Shard::parameters, .layers = layers});
          } catch (const Error& error) {
            return std::string(error.what());
          }
          return std::string();
        };
        EXPECT_THAT(refusal({}), HasSubstr("shard = parameters without layers"));
        EXPECT_THAT(refusal({{"first"}, {"third"}}), HasSubstr("layers names third"));
        EXPECT_THAT(refusal({{"first"}, {"first"}}), HasSubstr("in a layer already"));
        EXPECT_EQ(refusal({{"first", "frozen"}}), "");
      },
      kShared);
}

TEST(Shards, LeaveSparseGradientsWhole) {
  for (const Make make : {&plain_sgd, &lamb}) {
    run_ranks(
        3,
        [make](Communicator& world) {
          const std::string plain = train_words(world, make, Shard::none);
          EXPECT_TRUE(train_words(world, make, Shard::optimizer) == plain);
          EXPECT_TRUE(train_words(world, make, Shard::gradients) == plain);
        },
        kShared);
  }
}

// docs/acceptance.md, Optimizer: With gradients divided, a rank keeps its own part of each until
// the end of the window, and nothing between windows.
// docs/features.md, Gradients: Gradients that ranks divide | `--shard gradients`
TEST(Shards, FreeTheGradientsOfOthers) {
  run_ranks(
      2,
      [](Communicator& world) {
        Net net;
        DistributedOptimizer optimizer(world, net.named(), adamw(net.trained()),
                                       {.shard = Shard::gradients});
        for (int window = 0; window < 3; ++window) {
          optimizer.backward(net.loss(window), 1);
          optimizer.reduce();
          const at::Tensor gradient = net.first.grad();
          EXPECT_GT(bytes_in_memory(gradient), gradient.nbytes() / 4);
          EXPECT_LT(bytes_in_memory(gradient), gradient.nbytes() * 3 / 4);
          EXPECT_TRUE(optimizer.step());
          EXPECT_EQ(bytes_in_memory(gradient), 0);
        }
      },
      kShared);
}

// docs/acceptance.md, Optimizer: A window whose micro-batches are summed each at once keeps a
// rank's own part of a gradient between them.
TEST(Shards, KeepTheOwnPartOfAGradientBetweenMicroBatches) {
  run_ranks(
      2,
      [](Communicator& world) {
        for (const bool each : {true, false}) {
          Net net;
          DistributedOptimizer optimizer(
              world, net.named(), adamw(net.trained()),
              {.micro_batches = 2, .shard = Shard::gradients, .reduce_each = each});
          optimizer.backward(net.loss(1), 1);
          const at::Tensor gradient = net.first.grad();
          EXPECT_EQ(bytes_in_memory(gradient) > gradient.nbytes() * 3 / 4, !each);
          EXPECT_GT(bytes_in_memory(gradient), gradient.nbytes() / 4);
          optimizer.backward(net.loss(2), 1);
          EXPECT_TRUE(optimizer.step());
          EXPECT_EQ(bytes_in_memory(gradient), 0);
        }
      },
      kShared);
}

std::string refusal_of(Communicator& world,
                       std::unique_ptr<Optimizers> optimizer,
                       const Net& net,
                       const DistributedOptimizerOptions& options = {.shard = Shard::optimizer}) {
  try {
    const DistributedOptimizer made(world, net.named(), std::move(optimizer), options);
    return "none";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
}

// docs/acceptance.md, Optimizer: With the wire int8, too, a sharded optimizer computes the bits of
// one that is not.
TEST(Shards, HaveTheBitsOfNoneWithInt8BetweenHosts) {
  for (const std::vector<int>& hosts : {std::vector{2, 1}, std::vector{3, 1}}) {
    expect_same_on(
        hosts,
        {.make = adam, .options = {.wire = DataType::i8, .error_feedback = true}, .clip = 0.01});
  }
}

// docs/acceptance.md, Optimizer: An optimizer that cannot be divided is refused by name.
TEST(Shards, WhatCannotBeDividedIsRefusedByName) {
  run_ranks(
      2,
      [](Communicator& world) {
        const Net net;
        EXPECT_THAT(refusal_of(world, of<optim::LBFGS>(net.trained(), optim::LBFGSOptions(1)), net),
                    HasSubstr("LBFGS"));
        EXPECT_THAT(refusal_of(world, adamw(net.trained()), net,
                               {.shard = Shard::optimizer, .reduce_each = true}),
                    HasSubstr("reduce_each with shard = optimizer, where a rank keeps whole "
                              "gradients: set shard to gradients"));
        EXPECT_THAT(
            refusal_of(world, adamw(net.trained()), net,
                       {.wire = DataType::bf16, .shard = Shard::gradients, .reduce_each = true}),
            HasSubstr("reduce_each with wire = bf16, which would round"));
        DistributedOptimizer whole(world, net.named(),
                                   of<optim::LBFGS>(net.trained(), optim::LBFGSOptions(1)),
                                   {.shard = Shard::automatic});
        EXPECT_EQ(whole.shard(), Shard::none);
      },
      kShared);
  run_ranks(2,
            [](Communicator& world) {
              const Net net;
              EXPECT_THAT(refusal_of(world, adamw(net.trained()), net, {.shard = Shard::host}),
                          HasSubstr("share no memory with the backend"));
            },
            {.wire = Wire::gloo});
}

// docs/acceptance.md, Optimizer: Ranks of a host that share no memory divide the optimizer as hosts
// do.
TEST(Shards, MayLieApart) {
  RanksOptions options = kShared;
  options.wire = Wire::gloo;
  run_ranks(
      2,
      [](Communicator& world) {
        const Training training{.make = adam, .options = {.micro_batches = 2}, .clip = 0.01};
        const Trained plain = train(world, training, Shard::none);
        for (const Shard shard : {Shard::optimizer, Shard::gradients}) {
          const Trained shards = train(world, training, shard);
          EXPECT_TRUE(plain.parameters == shards.parameters) << name_of(shard);
          EXPECT_EQ(plain.losses, shards.losses) << name_of(shard);
          EXPECT_EQ(plain.norms, shards.norms) << name_of(shard);
          EXPECT_TRUE(world.rank() > 0 || plain.state == shards.state) << name_of(shard);
        }
      },
      options);
}

}  // namespace
}  // namespace bp::test
