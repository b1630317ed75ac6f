// Parameters that the wrapped optimizer gets after construction. A parameter that is not reduced
// must not be stepped, and ranks must agree on the parameters.
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::bits;
using test::make_rows;
using test::Mlp;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

void add_group(DistributedOptimizer& optimizer, const at::Tensor& parameter) {
  optimizer.optimizer().add_param_group(torch::optim::OptimizerParamGroup({parameter}));
}

// docs/acceptance.md, Optimizer: A parameter without a name that is added later is refused at the
// next step.
TEST(Members, UnnamedParameterAddedLaterIsRefusedAtTheNextStep) {
  test::run_ranks(2, [](Communicator& world) {
    const Mlp model;
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("sgd", model.parameters(), 0.1));
    optimizer.backward(model.loss(make_rows(4, 1)), 4);
    EXPECT_TRUE(optimizer.step());
    const at::Tensor late = at::zeros({1}).requires_grad_();
    add_group(optimizer, late);
    const auto mine = make_rows(4, static_cast<std::uint64_t>(world.rank()));
    optimizer.backward(model.loss(mine).add(late.mul(mine.x.sum()).sum()), 4);
    try {
      optimizer.step();
      ADD_FAILURE() << "step() accepted a parameter that is not reduced";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_STREQ(error.what(),
                   "DistributedOptimizer: parameter 0 of the wrapped optimizer's group 1, of shape "
                   "[1], is not among the named ones, so its gradient would never be reduced: pass "
                   "all of model->named_parameters().pairs(), to a new DistributedOptimizer where "
                   "it was added later");
    }
    EXPECT_EQ(late.item<double>(), 0) << "a step would make the ranks differ";
  });
}

// docs/acceptance.md, Optimizer: A parameter with a name can be added later.
TEST(Members, NamedParameterCanBeAddedLater) {
  test::run_ranks(3, [](Communicator& world) {
    const Mlp model;
    std::vector<at::Tensor> some = model.parameters();
    const at::Tensor last = some.back();
    some.pop_back();
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("sgd", some, 0.1));
    const auto step = [&] {
      const auto mine = make_rows(4, static_cast<std::uint64_t>(world.rank()));
      optimizer.backward(model.loss(mine), 4);
      EXPECT_TRUE(optimizer.step());
      test::expect_equal_on_all_ranks(world, bits(model.parameters()));
    };
    const std::string before = bits({last});
    step();
    EXPECT_EQ(bits({last}), before);
    add_group(optimizer, last);
    step();
    EXPECT_NE(bits({last}), before);
  });
}

TEST(Members, DifferentMembersAreAMismatch) {
  const auto texts = test::try_ranks(3, [](Communicator& world) {
    const Mlp model;
    std::vector<at::Tensor> some = model.parameters();
    if (world.rank() == 2) {
      some.erase(some.begin());
    }
    const DistributedOptimizer optimizer(world, model.named_parameters(),
                                         test::make_optimizer("sgd", some, 0.1));
  });
  EXPECT_THAT(texts, Each(HasSubstr(
                         "rank 2 has \"layer0.weight f32 [16, 8] (not in the wrapped optimizer)\" "
                         "where rank 0 has \"layer0.weight f32 [16, 8]\"")));
}

TEST(Members, MemberAddedOnOneRankIsAnErrorOnAllRanks) {
  const auto texts = test::try_ranks(2, [](Communicator& world) {
    const Mlp model;
    std::vector<at::Tensor> some = model.parameters();
    const at::Tensor last = some.back();
    some.pop_back();
    DistributedOptimizer optimizer(world, model.named_parameters(),
                                   test::make_optimizer("sgd", some, 0.1));
    if (world.rank() == 1) {
      add_group(optimizer, last);
    }
    for (int i = 0; i < 3; ++i) {
      optimizer.backward(model.loss(make_rows(4, 1)), 4);
      optimizer.step();
    }
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("mismatch"), HasSubstr("DistributedOptimizer"))));
}

}  // namespace
}  // namespace bp
