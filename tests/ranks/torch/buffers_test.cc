// options.buffers: all ranks get rank 0's values of what forward passes change besides parameters.
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/optimizer.h>

#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::bits;
using ::testing::Each;
using ::testing::HasSubstr;

// docs/acceptance.md, Optimizer: Buffers of a batch norm are rank 0's after each step.
TEST(Buffers, OfABatchNormAreRankZerosAfterEachStep) {
  test::run_ranks(3, [](Communicator& world) {
    torch::nn::Sequential model(torch::nn::Linear(2, 3), torch::nn::BatchNorm1d(3));
    DistributedOptimizer optimizer(world, model->named_parameters().pairs(),
                                   test::make_optimizer("sgd", model->parameters(), 0.1),
                                   {.buffers = model->named_buffers().pairs()});
    optimizer.broadcast_parameters();
    for (int step = 1; step <= 3; ++step) {
      const at::Tensor x = at::ones({4, 2}).mul(at::ones({4, 1}).cumsum(0)).mul(world.rank() + 1);
      optimizer.backward(model->forward(x).square().sum(), 4);
      // The forward pass has made the buffers differ. Afterwards all ranks have those of rank 0.
      const std::string own = bits(model->buffers());
      EXPECT_TRUE(optimizer.step());
      EXPECT_EQ(own == bits(model->buffers()), world.rank() == 0);
      test::expect_equal_on_all_ranks(world, bits(model->buffers()));
      EXPECT_EQ(model->named_buffers()["1.num_batches_tracked"].item<std::int64_t>(), step);
    }
  });
}

TEST(Buffers, AreTheRootsAfterABroadcast) {
  test::run_ranks(2, [](Communicator& world) {
    const at::Tensor parameter = at::zeros({2}, test::tensor_device()).requires_grad_();
    const at::Tensor buffer =
        at::zeros({3}, at::kLong).fill_(world.rank() + 5).to(test::tensor_device());
    DistributedOptimizer optimizer(world, {{"p", parameter}},
                                   test::make_optimizer("sgd", {parameter}, 0.1),
                                   {.buffers = {{"b", buffer}}});
    optimizer.broadcast_parameters(1);
    EXPECT_EQ(buffer.sum().item<std::int64_t>(), 18);
  });
}

TEST(Buffers, ThatDifferInShapeAreAMismatch) {
  const auto texts = test::try_ranks(2, [](Communicator& world) {
    const at::Tensor parameter = at::zeros({2}, test::tensor_device()).requires_grad_();
    const DistributedOptimizer optimizer(world, {{"p", parameter}},
                                         test::make_optimizer("sgd", {parameter}, 0.1),
                                         {.buffers = {{"b", at::zeros({3 + world.rank()})}}});
  });
  EXPECT_THAT(texts, Each(HasSubstr("rank 1 has \"buffer b f32 [4]\" where rank 0 has \"buffer b "
                                    "f32 [3]\"")));
}

TEST(Buffers, ThatCannotBeSentAreRefused) {
  const auto texts = test::try_ranks(2, [](Communicator& world) {
    const at::Tensor parameter = at::zeros({2}, test::tensor_device()).requires_grad_();
    const DistributedOptimizer optimizer(world, {{"p", parameter}},
                                         test::make_optimizer("sgd", {parameter}, 0.1),
                                         {.buffers = {{"b", at::zeros({1}).expand({3})}}});
  });
  EXPECT_THAT(texts, Each(HasSubstr("buffer b is a Strided tensor on cpu with strides [0]; only "
                                    "dense ones in memory can be taken")));
}

}  // namespace
}  // namespace bp
