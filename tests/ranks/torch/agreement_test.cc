// Ranks that were built differently: all of them get an error that names the first difference.
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <set>

#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"

namespace bp {
namespace {

using test::Mlp;
using test::run_ranks;

struct Build {
  NamedTensors parameters = Mlp().named_parameters();
  std::string kind = "sgd";
  DistributedOptimizerOptions options;
};

// Returns the texts that three ranks get if `change` is applied to the last one's build.
std::multiset<std::string> texts(const std::function<void(Build&)>& change) {
  std::mutex mutex;
  std::multiset<std::string> all;
  run_ranks(3, [&](Communicator& world) {
    Build build;
    if (world.rank() == 2) {
      change(build);
    }
    std::vector<at::Tensor> tensors;
    for (const auto& [name, tensor] : build.parameters) {
      tensors.push_back(tensor);
    }
    std::string text = "agreed";
    try {
      const DistributedOptimizer optimizer(
          world, build.parameters, test::make_optimizer(build.kind, tensors, 0.1), build.options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::mismatch);
      text = error.what();
    }
    const std::lock_guard lock(mutex);
    all.insert(text);
  });
  return all;
}

std::multiset<std::string> three(const std::string& difference) {
  const std::string text = difference == "agreed"
                               ? difference
                               : "DistributedOptimizer: " + difference +
                                     ": build the same model with the same options on every rank";
  return {text, text, text};
}

TEST(Agreement, EqualBuildsAgree) {
  EXPECT_EQ(texts([](Build&) {}), three("agreed"));
}

// docs/acceptance.md, Optimizer: A model that differs on one rank is an error that names the
// parameter.
TEST(Agreement, MissingParameter) {
  EXPECT_EQ(texts([](Build& build) { build.parameters.erase(build.parameters.begin() + 2); }),
            three("rank 2 has \"layer1.bias f32 [16]\" where rank 0 has \"layer1.weight f32 [16, "
                  "16]\""));
}

TEST(Agreement, ParameterTooMany) {
  EXPECT_EQ(texts([](Build& build) {
              build.parameters.emplace_back("extra", at::zeros({3, 2}).requires_grad_());
            }),
            three("rank 2 has \"extra f32 [3, 2]\" where rank 0 has \"nothing more\""));
}

TEST(Agreement, OtherName) {
  EXPECT_EQ(texts([](Build& build) { build.parameters[3].first = "renamed"; }),
            three("rank 2 has \"renamed f32 [16]\" where rank 0 has \"layer1.bias f32 [16]\""));
}

// docs/acceptance.md, Disagreement and misuse: A parameter that has another shape on one rank is an
// error, even if its count is the same.
TEST(Agreement, OtherShape) {
  EXPECT_EQ(texts([](Build& build) {
              build.parameters[0].second = at::zeros({8, 16}).requires_grad_();
            }),
            three("rank 2 has \"layer0.weight f32 [8, 16]\" where rank 0 has \"layer0.weight f32 "
                  "[16, 8]\""));
}

TEST(Agreement, OtherType) {
  EXPECT_EQ(
      texts([](Build& build) {
        build.parameters[1].second = at::zeros({16}, at::kBFloat16).requires_grad_();
      }),
      three("rank 2 has \"layer0.bias bf16 [16]\" where rank 0 has \"layer0.bias f32 [16]\""));
}

TEST(Agreement, FrozenOnOneRank) {
  EXPECT_EQ(texts([](Build& build) { build.parameters[0].second.set_requires_grad(false); }),
            three("rank 2 has \"layer0.bias f32 [16]\" where rank 0 has \"layer0.weight f32 [16, "
                  "8]\""));
}

TEST(Agreement, OtherOptions) {
  EXPECT_EQ(texts([](Build& build) { build.options.bucket_bytes = 5; }),
            three("rank 2 has \"bucket_bytes 5\" where rank 0 has \"bucket_bytes 4194304\""));
  EXPECT_EQ(texts([](Build& build) { build.kind = "adam"; }),
            three("rank 2 has \"optimizer torch::optim::Adam\" where rank 0 has \"optimizer "
                  "torch::optim::SGD\""));
}

// The other ranks throw and leave. That must not discard data that the slow rank has yet to
// receive.
// docs/acceptance.md, Disagreement and misuse: A rank that is slow gets the same error as the
// others.
TEST(Agreement, SlowRankGetsTheSameError) {
  const auto ends = test::try_ranks(
      3,
      [](Communicator& world) {
        auto parameters = Mlp().named_parameters();
        if (world.rank() == 2) parameters[3].first = "renamed";
        std::vector<at::Tensor> tensors;
        for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
        const DistributedOptimizer optimizer(world, parameters,
                                             test::make_optimizer("sgd", tensors, 0.1));
      },
      {.fault = [](int rank) {
        return rank == 1 ? Fault{.kind = Fault::Kind::slow, .delay = std::chrono::milliseconds(20)}
                         : Fault{};
      }});
  EXPECT_THAT(ends, testing::Each(testing::StartsWith(
                        "mismatch: DistributedOptimizer: rank 2 has \"renamed f32 [16]\"")));
}

}  // namespace
}  // namespace bp
