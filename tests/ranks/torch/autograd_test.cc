// Gradients through collectives: those of the sum of all ranks' losses, exact in small integers.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "bp/error.h"
#include "bp/torch/collective.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"

namespace bp {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<float> values(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.cpu().contiguous();
  const float* const data = dense.const_data_ptr<float>();
  return {data, data + dense.numel()};
}

// Returns values that differ on each rank and at each index.
at::Tensor input(const Communicator& world, at::IntArrayRef shape) {
  const std::int64_t count = c10::multiply_integers(shape);
  return (at::arange(count, at::kFloat) + 100.F * static_cast<float>(world.rank()))
      .reshape(shape)
      .to(test::tensor_device())
      .requires_grad_();
}

at::Tensor factor(const Communicator& world) {
  return at::full({}, static_cast<float>(world.rank() + 1),  // 1, 2, 3: their sum is 6
                  test::tensor_device());
}

// docs/acceptance.md, Values: Gradients flow through a sum, and through an average, a gather and a
// broadcast.
TEST(Autograd, OfASum) {
  run_ranks(3, [](Communicator& world) {
    const at::Tensor x = input(world, {2, 2});
    const at::Tensor y = all_reduced(world, x, {.name = "y"});
    EXPECT_THAT(values(y), ElementsAre(300, 303, 306, 309));
    EXPECT_EQ(values(x)[0], 100.F * static_cast<float>(world.rank())) << "x must not change";
    (y * y * factor(world)).sum().backward();  // d/dx of 6 y^2, the sum of all ranks' losses
    EXPECT_THAT(values(x.grad()), ElementsAre(3600, 3636, 3672, 3708));
  });
}

TEST(Autograd, OfAnAverage) {
  run_ranks(3, [](Communicator& world) {
    const at::Tensor x = input(world, {2});
    const at::Tensor y = all_reduced(world, x, {.op = ReduceOp::average});
    EXPECT_THAT(values(y), ElementsAre(100, 101));
    (y * factor(world)).sum().backward();
    EXPECT_THAT(values(x.grad()), Each(2));  // 6 / 3
  });
}

TEST(Autograd, OfASumWithFactors) {
  run_ranks(3, [](Communicator& world) {
    const at::Tensor x = input(world, {2});
    const at::Tensor y = all_reduced(world, x, {.prescale = 2, .postscale = 0.5});
    EXPECT_THAT(values(y), ElementsAre(300, 303));
    const at::Tensor z = all_reduced(world, x, {.prescale = 2, .postscale = 4});
    ((y + z) * factor(world)).sum().backward();
    EXPECT_THAT(values(x.grad()), Each(54));  // 6 x (1 + 8)
  });
}

TEST(Autograd, OfAGather) {
  run_ranks(3, [](Communicator& world) {
    const at::Tensor x = input(world, {2, 2});
    const at::Tensor y = all_gathered(world, x, {.name = "rows"});
    EXPECT_EQ(y.sizes(), at::IntArrayRef({6, 2}));
    EXPECT_THAT(values(y), ElementsAre(0, 1, 2, 3, 100, 101, 102, 103, 200, 201, 202, 203));
    // Element i of the whole has the weight i times the rank's factor.
    (y.flatten() * at::arange(12, at::kFloat).to(y.device()) * factor(world)).sum().backward();
    std::vector<float> expected;
    for (int i = 0; i < 4; ++i) expected.push_back(6.F * static_cast<float>(4 * world.rank() + i));
    EXPECT_THAT(values(x.grad()), ElementsAreArray(expected));
  });
}

TEST(Autograd, OfAScalarsGather) {
  run_ranks(2, [](Communicator& world) {
    const at::Tensor x = input(world, {});
    const at::Tensor y = all_gathered(world, x);
    EXPECT_THAT(values(y), ElementsAre(0, 100));
    (y * y).sum().backward();
    EXPECT_EQ(x.grad().dim(), 0);
    EXPECT_EQ(x.grad().item<float>(), world.rank() == 0 ? 0 : 400);
  });
}

TEST(Autograd, OfABroadcast) {
  run_ranks(3, [](Communicator& world) {
    const at::Tensor x = input(world, {2});
    const at::Tensor y = broadcasted(world, x, {.root = 1});
    EXPECT_THAT(values(y), ElementsAre(100, 101));
    (y * factor(world)).sum().backward();
    EXPECT_THAT(values(x.grad()), Each(world.rank() == 1 ? 6 : 0));
  });
}

// Rank r has x_r = r + 1 and y, which a collective makes of all x_r^3. Every rank's loss is y^2.
// The first derivatives are squared and differentiated again, as a gradient penalty does.
struct SecondDerivative {
  const char* name;
  at::Tensor (*of_ranks)(Communicator& world, const at::Tensor& mine);
  at::Tensor (*plainly)(const std::vector<at::Tensor>& of_ranks);
};
constexpr SecondDerivative kSecondDerivatives[] = {
    {"sum",
     [](Communicator& world, const at::Tensor& mine) {
       return all_reduced(world, mine, {.prescale = 2});
     },
     [](const std::vector<at::Tensor>& of) { return 2 * (of[0] + of[1] + of[2]); }},
    {"gather",
     [](Communicator& world, const at::Tensor& mine) {
       return (all_gathered(world, mine) * at::arange(1, 4, mine.options())).sum();
     },
     [](const std::vector<at::Tensor>& of) { return of[0] + 2 * of[1] + 3 * of[2]; }},
    {"broadcast",
     [](Communicator& world, const at::Tensor& mine) {
       return broadcasted(world, mine, {.root = 1});
     },
     [](const std::vector<at::Tensor>& of) { return of[1] + 0 * (of[0] + of[2]); }}};

void square_and_differentiate_again(const at::Tensor& loss, const std::vector<at::Tensor>& inputs) {
  const auto first = torch::autograd::grad({loss}, inputs, {}, true, /*create_graph=*/true);
  at::Tensor penalty = first[0].square().sum();
  for (std::size_t i = 1; i < first.size(); ++i) penalty = penalty + first[i].square().sum();
  penalty.backward();
}

// docs/features.md, Gradients: Second derivatives through collectives | `all_reduced`,
// `all_gathered`, `broadcasted`
TEST(Autograd, SecondDerivativesAreThoseOfOneProcess) {
  for (const SecondDerivative& one : kSecondDerivatives) {
    run_ranks(3, [&](Communicator& world) {
      const auto options = at::device(test::tensor_device()).dtype(at::kDouble);
      std::vector<at::Tensor> all;
      std::vector<at::Tensor> cubes;
      for (int r = 0; r < 3; ++r) {
        all.push_back(at::full({1}, r + 1.0, options).requires_grad_());
        cubes.push_back(all.back().pow(3));
      }
      square_and_differentiate_again(3 * one.plainly(cubes).square().sum(), all);
      const auto rank = static_cast<std::size_t>(world.rank());
      const at::Tensor x = all[rank].detach().clone().requires_grad_();
      square_and_differentiate_again(one.of_ranks(world, x.pow(3)).square().sum(), {x});
      EXPECT_EQ(x.grad().item<double>(), all[rank].grad().item<double>())
          << one.name << ", rank " << rank;
    });
  }
}

TEST(Autograd, AcceptsAnyStridesWithinALargerGraph) {
  run_ranks(2, [](Communicator& world) {
    const at::Tensor x = input(world, {2, 3});
    const at::Tensor y = all_reduced(world, (2 * x).t());
    EXPECT_THAT(values(y), ElementsAre(200, 212, 204, 216, 208, 220));
    y.sum().backward();  // its gradient is one element, expanded
    EXPECT_THAT(values(x.grad()), Each(4));
  });
}

TEST(Autograd, RankWhoseLossDoesNotUseTheResultTakesPart) {
  run_ranks(2, [](Communicator& world) {
    const at::Tensor x = input(world, {2});
    const at::Tensor y = all_reduced(world, x);
    (world.rank() == 0 ? y * 5 : y * 0).sum().backward();
    EXPECT_THAT(values(x.grad()), Each(5));
  });
}

TEST(Autograd, BuildsNoGraphIfNoneIsRequired) {
  run_ranks(2, [](Communicator& world) {
    const at::Tensor x = input(world, {2});
    EXPECT_TRUE(all_reduced(world, x).requires_grad());
    EXPECT_FALSE(all_reduced(world, x.detach(), {.op = ReduceOp::max}).requires_grad());
    const at::NoGradGuard no_grad;
    EXPECT_FALSE(all_gathered(world, x).requires_grad());
    EXPECT_FALSE(broadcasted(world, x).requires_grad());
  });
}

// docs/acceptance.md, Values: A gradient through a maximum is refused.
TEST(Autograd, RefusesAGradientThroughAMaximum) {
  run_ranks(2, [](Communicator& world) {
    try {
      (void)all_reduced(world, input(world, {2}), {.op = ReduceOp::max});
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_STREQ(error.what(),
                   "all_reduced: the max over ranks has no gradient here: take sum or average, or "
                   "detach() what needs none");
    }
  });
}

TEST(Autograd, WorksInSharedMemory) {
  run_ranks(4,
            [](Communicator& world) {
              const at::Tensor x = input(world, {1000});
              all_gathered(world, x).sum().backward();
              EXPECT_THAT(values(x.grad()), Each(4));
            },
            {.wire = test::Wire::shm});
}

}  // namespace
}  // namespace bp
