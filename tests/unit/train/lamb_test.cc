// LAMB on parts of matrices, against LAMB on whole ones. optimizers_test.cc tests the latter.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bp/collective.h"
#include "tests/support/run_ranks.h"
#include "trainer/optim/update_rules.h"

namespace bp::trainer {
namespace {

using at::Tensor;

constexpr auto kPieceOfPart = static_cast<std::int64_t>(ParameterParts::kPiece);
constexpr int kOwners = 3;

class PartsOfRanks : public ParameterParts {
 public:
  explicit PartsOfRanks(Communicator& comm) : comm_(comm) {}
  [[nodiscard]] Place place_of(const Tensor& /*part*/) const override { return {}; }
  void all_reduce(std::span<double> numbers) const override {
    bp::all_reduce(comm_, view(numbers));
  }

 private:
  Communicator& comm_;
};

struct Lambs {
  explicit Lambs(const std::vector<Tensor>& start) {
    for (const Tensor& one : start) {
      parameters.push_back(one.clone());
      moments.push_back({at::zeros_like(one), at::zeros_like(one)});
    }
  }
  std::vector<Tensor> parameters;
  std::vector<std::vector<Tensor>> moments;
};

Tensor flat_of(const Tensor& tensor) { return tensor.as_strided({tensor.numel()}, {1}); }

OptimizerStep step_of(std::int64_t number) {
  return {.lr = 0.01, .weight_decay = 0.1, .number = number};
}

// Owner i has the pieces from cuts[i] on, of a matrix kept by columns, of a bias, and of a matrix
// that is shorter than a piece.
TEST(Lamb, PartsGetTheBitsOfTheWhole) {
  at::manual_seed(1);
  const std::vector<Tensor> start = {at::randn({401, 503}).t(), at::randn({2 * kPieceOfPart + 3}),
                                     at::randn({3, 4})};
  const std::vector<std::vector<std::int64_t>> cuts = {
      {0, kPieceOfPart, 3 * kPieceOfPart, 401 * 503},
      {0, 0, kPieceOfPart, 2 * kPieceOfPart + 3},
      {0, 12, 12, 12}};
  const auto lamb = make_rule("lamb", {.beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-6});
  const auto& of_parts = dynamic_cast<const PartRule&>(*lamb);
  Lambs whole(start);
  Lambs parts(start);
  std::vector<std::vector<Tensor>> gradients(4);
  for (std::vector<Tensor>& of_step : gradients) {
    for (const Tensor& one : start) of_step.push_back(at::randn_like(one));
  }
  const at::NoGradGuard no_grad;
  for (std::size_t number = 0; number < gradients.size(); ++number) {
    for (std::size_t i = 0; i < start.size(); ++i) {
      lamb->update(whole.parameters[i], gradients[number][i], whole.moments[i],
                   step_of(static_cast<std::int64_t>(number) + 1));
    }
  }
  bp::test::run_ranks(kOwners, [&](Communicator& world) {
    const at::NoGradGuard also_here;
    const auto owner = static_cast<std::size_t>(world.rank());
    for (std::size_t number = 0; number < gradients.size(); ++number) {
      std::vector<PartUpdate> updates;
      for (std::size_t i = 0; i < start.size(); ++i) {
        const std::int64_t begin = cuts[i][owner];
        const auto part = [&](const Tensor& tensor) {
          return flat_of(tensor).slice(0, begin, cuts[i][owner + 1]);
        };
        updates.push_back({.place = {.parameter = &parts.parameters[i],
                                     .offset = static_cast<std::size_t>(begin)},
                           .part = part(parts.parameters[i]),
                           .gradient = part(gradients[number][i]),
                           .moments = {part(parts.moments[i][0]), part(parts.moments[i][1])},
                           .step = step_of(static_cast<std::int64_t>(number) + 1)});
      }
      of_parts.update_parts(updates, PartsOfRanks(world));
    }
  });
  for (std::size_t i = 0; i < start.size(); ++i) {
    EXPECT_TRUE(parts.parameters[i].equal(whole.parameters[i])) << start[i].sizes();
    EXPECT_FALSE(whole.parameters[i].equal(start[i]));
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_TRUE(parts.moments[i][k].equal(whole.moments[i][k])) << start[i].sizes();
    }
  }
}

}  // namespace
}  // namespace bp::trainer
