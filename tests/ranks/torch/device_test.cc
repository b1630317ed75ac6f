// Properties of training that only devices have. The tests of training on the CPU run on devices,
// too (on_device.h).
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "bp/torch/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/ranks/torch/given_gradients.h"
#include "tests/ranks/torch/on_device.h"
#include "tests/ranks/torch/sharded_training.h"
#include "tests/support/fake_nccl/use.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::copies_to_host;
using test::GivenGradients;
using test::make_rows;
using test::Mlp;
using test::run_ranks;
using test::tensor_device;
using test::try_ranks;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Setting {
  int ranks = 1;
  DataType wire = DataType::f32;
  bool clips = false;
  bool by_nccl = false;
};

struct Trained {
  std::vector<at::Tensor> parameters = {};
  std::vector<double> losses = {};
  std::vector<double> norms = {};
};

// Trains on tensor_device() from rank 0's parameters. Rank 2 has a filler.
Trained train(Communicator& world, const Setting& setting) {
  const Mlp model(static_cast<std::uint64_t>(7 + world.rank()));
  DistributedOptimizer optimizer(world, model.named_parameters(),
                                 test::make_optimizer("adamw", model.parameters(), 0.01),
                                 {.micro_batches = 2,
                                  .first_bucket_bytes = 256,
                                  .bucket_bytes = 1024,
                                  .wire = setting.wire,
                                  .loss_scaling = {.initial = 1024, .interval = 2}});
  optimizer.broadcast_parameters();
  Trained trained;
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < 2; ++i) {
      const auto rows =
          make_rows(3 + i, static_cast<std::uint64_t>(step * 100 + world.rank() * 10 + i));
      const bool is_filler = world.rank() == 2 && i == 1;
      optimizer.backward(model.loss(rows), is_filler ? 0 : rows.weight());
    }
    if (setting.clips) trained.norms.push_back(optimizer.clip_grad_norm(0.1));
    EXPECT_TRUE(optimizer.step());
    trained.losses.push_back(optimizer.window().loss);
    test::expect_equal_on_all_ranks(world, test::bits(model.parameters()));
  }
  trained.parameters = model.parameters();
  return trained;
}

std::string name_of_setting(const ::testing::TestParamInfo<Setting>& setting) {
  const auto& [ranks, wire, clips, by_nccl] = setting.param;
  return concat(ranks, "ranks_", name_of(wire), clips ? "_clipped" : "", by_nccl ? "_nccl" : "");
}

class OnDevice : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(
    Ways,
    OnDevice,
    ::testing::Values(Setting{.ranks = 1},
                      Setting{.ranks = 1, .clips = true},
                      Setting{.ranks = 2},
                      Setting{.ranks = 2, .wire = DataType::bf16},
                      Setting{.ranks = 3, .wire = DataType::f16, .clips = true},
                      Setting{.ranks = 3},
                      Setting{.ranks = 3, .wire = DataType::bf16, .clips = true},
                      Setting{.ranks = 2, .by_nccl = true},
                      Setting{.ranks = 3, .wire = DataType::bf16, .by_nccl = true}),
    name_of_setting);

TEST_P(OnDevice, TrainsAsOnTheHost) {
  const Setting setting = GetParam();
  test::RanksOptions options{.wire = test::Wire::shm};
  if (setting.by_nccl) options.devices = DeviceBackend::nccl;
  run_ranks(
      setting.ranks,
      [&](Communicator& world) {
        const Trained there = train(world, setting);
        EXPECT_FALSE(there.parameters[0].is_cpu());
        tensor_device() = at::kCPU;
        const Trained here = train(world, setting);
        // The fake device computes as the host does. Only norms, and the sums of NCCL, are added in
        // another order.
        if (!setting.clips && !setting.by_nccl && !test::runs_on_gpu()) {
          EXPECT_EQ(there.losses, here.losses);
          EXPECT_EQ(test::bits(there.parameters), test::bits(here.parameters));
        }
        for (std::size_t i = 0; i < here.losses.size(); ++i) {
          EXPECT_NEAR(there.losses[i], here.losses[i], 1e-6) << "step " << i;
        }
        EXPECT_LT(test::distance(there.parameters, here.parameters), 2e-5);
        for (std::size_t i = 0; i < here.norms.size(); ++i) {
          EXPECT_NEAR(there.norms[i], here.norms[i], 1e-6 * here.norms[i]);
        }
      },
      options);
}

// docs/acceptance.md, Devices: With parameters on a device, gradients, sums and residuals stay
// there.
TEST(OnDeviceToo, GradientsSumsAndResidualsStayThere) {
  run_ranks(2, [](Communicator& world) {
    GivenGradients rank(world, 2,
                        {.nominal_weight = 2, .wire = DataType::bf16, .error_feedback = true});
    rank.backward({1, 2});
    EXPECT_EQ(rank.tensor().grad().device(), tensor_device());
    rank.optimizer().step();
    const auto state = rank.optimizer().state();
    EXPECT_EQ(state.residuals.at(0).second.device(), tensor_device());
    EXPECT_THAT(rank.parameter(), ElementsAre(-1, -2));
  });
}

// The squares of these gradients exceed f32, and their sum is exact in double precision.
TEST(OnDeviceToo, TheNormIsComputedInDoublePrecision) {
  for (const int ranks : {1, 3}) {
    run_ranks(ranks, [](Communicator& world) {
      GivenGradients rank(world, 1000, {});
      std::vector<float> gradient(1000);
      gradient[1] = 0x1.8p100F;
      gradient[999] = -0x1p101F;
      rank.backward(gradient);
      EXPECT_EQ(rank.optimizer().clip_grad_norm(0x1p100), 0x1.4p101);
      EXPECT_EQ(rank.gradient()[999], -0x1.99999ap99F);
    });
  }
}

// The loss, the sum of the weights and the norm come together.
// docs/acceptance.md, Devices: With parameters on a device, the host waits for it once a window.
TEST(OnDeviceToo, TheHostReadsOnceAWindow) {
  if (test::runs_on_gpu()) return;  // which does not tell its copies
  run_ranks(1, [](Communicator& world) {
    GivenGradients rank(world, 3, {.micro_batches = 3});
    for (int window = 0; window < 2; ++window) {
      const auto before = copies_to_host();
      for (const double weight : {1, 2, 1}) rank.backward({1, 2, 3}, weight);
      EXPECT_EQ(copies_to_host() - before, 0);
      rank.optimizer().reduce();
      EXPECT_EQ(copies_to_host() - before, 1);
      EXPECT_FLOAT_EQ(static_cast<float>(rank.optimizer().clip_grad_norm(1000)), std::sqrt(14.0F));
      rank.optimizer().step();
      EXPECT_EQ(copies_to_host() - before, 1);
      EXPECT_EQ(rank.optimizer().window().loss, window == 0 ? 0 : -14);
    }
  });
}

// The host need not wait for such a loss.
TEST(OnDeviceToo, ALossMayLieOnTheHost) {
  run_ranks(2, [](Communicator& world) {
    GivenGradients rank(world, 1, {.micro_batches = 2});
    rank.backward({1});
    rank.optimizer().step();
    rank.backward({3});
    rank.optimizer().backward((rank.tensor() * 5).sum().cpu(), 1);
    rank.optimizer().step();
    EXPECT_EQ(rank.optimizer().window().loss, -4);
    EXPECT_THAT(rank.parameter(), ElementsAre(-5));
  });
}

TEST(OnDeviceToo, AGradientMayOutliveTheOptimizer) {
  run_ranks(2, [](Communicator& world) {
    at::Tensor kept;
    {
      GivenGradients rank(world, 1000, {});
      rank.backward(std::vector<float>(1000, 3));
      rank.optimizer().reduce();
      kept = rank.tensor().grad();
    }
    EXPECT_EQ(kept.sum().item<double>(), 3000);
  });
}

TEST(OnDeviceToo, ABackwardPassOutsideOfAWindowIsRefused) {
  const auto texts = try_ranks(1, [](Communicator& world) {
    GivenGradients rank(world, 1, {});
    EXPECT_THROW(rank.tensor().sum().backward(), Error);
    rank.backward({1});
  });
  EXPECT_THAT(texts,
              Each(StartsWith("aborted: DistributedOptimizer: unusable since an earlier call "
                              "failed: parameter p got a gradient outside of backward()")));
}

// docs/acceptance.md, Devices: Another kind of device on one rank is an error on all.
TEST(OnDeviceToo, AnotherKindOfDeviceOnOneRankIsAMismatch) {
  const auto texts = try_ranks(2, [](Communicator& world) {
    if (world.rank() == 1) tensor_device() = at::kCPU;
    const GivenGradients rank(world, 2, {});
  });
  EXPECT_THAT(texts,
              Each(AllOf(StartsWith("mismatch: DistributedOptimizer: rank 1 has \"steps with"),
                         HasSubstr("where rank 0 has \"steps on cuda\""))));
}

std::string refusal(Communicator& world,
                    const NamedTensors& parameters,
                    const DistributedOptimizerOptions& options) {
  try {
    const DistributedOptimizer optimizer(
        world, parameters, test::make_optimizer("sgd", {parameters[0].second}, 0.1), options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

// docs/acceptance.md, Devices: Mixed devices and sparse gradients on a device are refused by name.
TEST(OnDeviceToo, WhatIsImpossibleIsRefusedByName) {
  run_ranks(1, [](Communicator& world) {
    const at::Tensor there = at::zeros({2, 2}, tensor_device()).requires_grad_();
    const std::string place = concat(tensor_device());
    EXPECT_EQ(refusal(world, {{"there", there}, {"here", at::zeros({2})}}, {}),
              "DistributedOptimizer: parameter here is on cpu and parameter there on " + place +
                  ": move the whole model to one device");
    EXPECT_EQ(refusal(world, {{"rows", there}}, {.sparse_gradients = {"rows"}}),
              "DistributedOptimizer: sparse_gradients names rows, which is on " + place +
                  ", but rows are summed on the CPU only: make its embedding with sparse(false)");
    EXPECT_EQ(refusal(world, {{"rows", there}}, {.wire = DataType::i8}),
              "DistributedOptimizer: wire is i8, but the parameters are on " + place +
                  ", and only the CPU's gradients travel as i8: set wire to f16 or bf16");
  });
}

at::Tensor first_moment(DistributedOptimizer& optimizer, const at::Tensor& parameter) {
  const auto found = optimizer.optimizer().state().find(parameter.unsafeGetTensorImpl());
  return static_cast<torch::optim::AdamWParamState&>(*found->second).exp_avg();
}

// shard_bits_test.cc compares what they compute.
// docs/features.md, Gradients: Optimizer state that GPUs divide | `--shard optimizer`
// docs/acceptance.md, Devices: Ranks whose parameters lie on devices divide the optimizer's state,
// and each has memory for its part alone, except while the state is gathered.
TEST(OnDeviceToo, ARankHasItsPartOfTheStateOnly) {
  run_ranks(
      3,
      [](Communicator& world) {
        test::Net net;
        DistributedOptimizer optimizer(world, net.named(), test::adamw(net.trained()),
                                       {.shard = Shard::optimizer});
        const std::int64_t all = net.first.numel();
        for (int window = 0; window < 3; ++window) {
          if (window == 2) optimizer.broadcast_parameters(1);
          optimizer.backward(net.loss(window), 1);
          EXPECT_TRUE(optimizer.step());
          const std::int64_t part = first_moment(optimizer, net.first).numel();
          EXPECT_GT(part, all / 6);
          EXPECT_LT(part, all / 2);
          const std::size_t bytes = first_moment(optimizer, net.first).storage().nbytes();
          EXPECT_EQ(bytes, part * sizeof(float));
          optimizer.gather_state(window);
          const at::Tensor gathered = first_moment(optimizer, net.first);
          EXPECT_EQ(gathered.numel(), world.rank() == window ? all : part);
          EXPECT_EQ(gathered.device(), tensor_device());
          if (window == 1) optimizer.gather_state(2);
        }
      },
      test::kShared);
}

TEST(OnDeviceToo, OnlyTheOptimizerCanBeDivided) {
  run_ranks(2, [](Communicator& world) {
    const test::Net net;
    for (const Shard shard : {Shard::host, Shard::gradients, Shard::parameters}) {
      EXPECT_EQ(refusal(world, net.named(), {.shard = shard}),
                concat("DistributedOptimizer: shard = ", name_of(shard),
                       ", but the parameters lie on ", tensor_device(),
                       ", where ranks divide the optimizer only: set it to none, or to automatic"));
    }
    const DistributedOptimizer automatic(world, net.named(), test::adamw(net.trained()),
                                         {.shard = Shard::automatic});
    EXPECT_EQ(automatic.shard(), Shard::none);
  });
}

// NCCL adds in an order of its own.
TEST(OnDeviceToo, RanksDivideTheOptimizerOverNccl) {
  test::RanksOptions options = test::kShared;
  options.devices = DeviceBackend::nccl;
  run_ranks(
      3,
      [](Communicator& world) {
        const test::Training training{.make = test::sgd, .clip = 0.01};
        const test::Trained plain = test::train(world, training, Shard::none);
        const test::Trained shards = test::train(world, training, Shard::optimizer);
        for (std::size_t i = 0; i < plain.losses.size(); ++i) {
          EXPECT_NEAR(shards.losses[i], plain.losses[i], 1e-6) << "window " << i;
          EXPECT_NEAR(shards.norms[i], plain.norms[i], 1e-6 * plain.norms[i]) << "window " << i;
        }
      },
      options);
}

TEST(OnDeviceToo, AViewTellsTheDevice) {
  run_ranks(2, [](Communicator&) {
    const View view = view_of(at::zeros({3}, tensor_device()));
    EXPECT_EQ(view.device, (Device{Device::Kind::cuda, tensor_device().index()}));
  });
}

}  // namespace
}  // namespace bp
