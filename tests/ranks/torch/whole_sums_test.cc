// Sums over whole gradients and parameters, of which each rank of a host has a part: their bits do
// not depend on the division.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "bp/torch/elementwise.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::run_ranks;

constexpr auto kPiece = static_cast<std::int64_t>(ParameterParts::kPiece);

// Two parameters of more than a piece, one of them kept by columns, and a short one.
struct Waves {
  at::Tensor turned = wave(1).slice(0, 0, 210000).view({700, 300}).t().requires_grad_();
  at::Tensor tall = wave(2).slice(0, 0, 2 * kPiece).view({kPiece, 2}).requires_grad_();
  at::Tensor low = wave(3).slice(0, 0, 100).requires_grad_();

  static at::Tensor wave(double seed) {
    return (at::arange(300000, at::kDouble) * 0.37 + seed).sin().mul(0.1).to(at::kFloat);
  }
  [[nodiscard]] std::vector<at::Tensor> all() const { return {turned, tall, low}; }
  [[nodiscard]] NamedTensors named() const {
    return {{"turned", turned}, {"tall", tall}, {"low", low}};
  }
  // Has the gradient of `seed`, whatever the parameters are.
  [[nodiscard]] at::Tensor loss(double seed) const {
    const at::Tensor slope = wave(seed);
    return (turned * slope.slice(0, 0, 210000).view({300, 700})).sum() +
           (tall * slope.slice(0, 5, 2 * kPiece + 5).view({kPiece, 2})).sum() +
           (low * slope.slice(0, 7, 107)).sum();
  }
};

// docs/acceptance.md, Optimizer: The norm of equal gradients has the same bits on 1, 2 and 4 ranks,
// on uneven hosts, and whatever the ranks divide.
TEST(WholeSums, TheNormOfGradientsHasTheSameBitsOnAnyNumberOfRanks) {
  std::vector<double> norms;
  for (const std::vector<int>& hosts :
       std::vector<std::vector<int>>{{1}, {2}, {4}, {2, 2}, {3, 1}, {2, 1, 1}}) {
    for (const Shard shard : {Shard::none, Shard::host, Shard::optimizer, Shard::gradients}) {
      const auto body = [&](Communicator& world) {
        const Waves waves;
        DistributedOptimizer optimizer(
            world, waves.named(), test::make_optimizer("sgd", waves.all(), 0.1), {.shard = shard});
        optimizer.backward(waves.loss(4), 1);
        const double norm = optimizer.clip_grad_norm(1e6);
        if (world.rank() == 0) norms.push_back(norm);
      };
      run_ranks(std::accumulate(hosts.begin(), hosts.end(), 0), body,
                {.wire = test::Wire::shm, .local_sizes = hosts});
    }
  }
  EXPECT_GT(norms[0], 10);
  EXPECT_THAT(norms, ::testing::Each(norms[0]));
}

// LARS (You et al. 2017, arXiv:1708.03888) without momentum, as a program of its own has it.
class Lars : public torch::optim::Optimizer, public Elementwise {
 public:
  explicit Lars(const std::vector<at::Tensor>& parameters)
      : Optimizer({torch::optim::OptimizerParamGroup(parameters)},
                  std::make_unique<torch::optim::SGDOptions>(0.1)) {}

  at::Tensor step(LossClosure /*closure*/) override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor>& parameters = param_groups()[0].params();
    std::vector<double> squares;  // of all pieces of the parameters, each followed by its gradient
    std::vector<std::size_t> sizes;
    for (const at::Tensor& parameter : parameters) {
      const ParameterParts::Place place =
          parts_ == nullptr ? ParameterParts::Place() : parts_->place_of(parameter);
      const at::Tensor& whole = place.parameter == nullptr ? parameter : *place.parameter;
      sizes.push_back(static_cast<std::size_t>((whole.numel() + kPiece - 1) / kPiece));
      const std::size_t first = squares.size() + place.offset / ParameterParts::kPiece;
      squares.resize(squares.size() + 2 * sizes.back());
      write_squares(parameter, squares.data() + first);
      write_squares(parameter.grad(), squares.data() + first + sizes.back());
    }
    if (parts_ != nullptr) parts_->all_reduce(squares);
    const double* next = squares.data();
    const auto norm = [&next](std::size_t size) {
      const double* const begin = next;
      next += size;
      return std::sqrt(std::accumulate(begin, next, 0.0));
    };
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double weight = norm(sizes[i]);
      parameters[i].sub_(parameters[i].grad(), 0.1 * weight / norm(sizes[i]));
    }
    return {};
  }
  void use_parts(const ParameterParts* parts) override {
    EXPECT_NE(parts == nullptr, parts_ == nullptr);
    parts_ = parts;
  }
  [[nodiscard]] bool has_parts() const { return parts_ != nullptr; }

 private:
  // In the order of memory.
  static void write_squares(const at::Tensor& tensor, double* to) {
    const at::Tensor elements = tensor.as_strided({tensor.numel()}, {1}).to(at::kDouble).square();
    for (std::int64_t at = 0; at < elements.numel(); at += kPiece) {
      *to++ = elements.slice(0, at, at + kPiece).sum().item<double>();
    }
  }
  const ParameterParts* parts_ = nullptr;
};

std::string train_with_lars(Communicator& world, Shard shard) {
  const Waves waves;
  auto own = std::make_unique<Lars>(waves.all());
  const Lars& lars = *own;
  DistributedOptimizer optimizer(world, waves.named(), std::move(own),
                                 {.first_bucket_bytes = 1 << 24, .shard = shard});
  for (int window = 0; window < 3; ++window) {
    optimizer.backward(waves.loss(window + 10 * world.rank()), 1);
    EXPECT_TRUE(optimizer.step());
    EXPECT_FALSE(lars.has_parts());
  }
  test::expect_equal_on_all_ranks(world, test::bits(waves.all()));
  return test::bits(waves.all());
}

// docs/acceptance.md, Optimizer: An optimizer that needs norms of whole parameters is divided, too,
// if it asks for their sums.
TEST(WholeSums, AnOptimizerOfOnesOwnAsksForThem) {
  const std::vector<std::vector<int>> jobs = {{1}, {2}, {3}, {4}, {2, 1}};
  for (const std::vector<int>& hosts : jobs) {
    run_ranks(std::accumulate(hosts.begin(), hosts.end(), 0),
              [](Communicator& world) {
                const std::string plain = train_with_lars(world, Shard::none);
                EXPECT_TRUE(train_with_lars(world, Shard::host) == plain);
                EXPECT_TRUE(train_with_lars(world, Shard::optimizer) == plain);
              },
              {.wire = test::Wire::shm, .local_sizes = hosts});
  }
}

}  // namespace
}  // namespace bp
