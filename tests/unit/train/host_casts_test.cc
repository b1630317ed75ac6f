#include "trainer/train/loop/host_casts.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <vector>

#include "bp/collective.h"
#include "tests/support/run_ranks.h"
#include "trainer/model/passes/products.h"

namespace bp::trainer {
namespace {

at::Tensor matrix(std::int64_t rows, std::int64_t columns, double seed) {
  return (at::arange(rows * columns, at::kDouble) * 0.37 + seed)
      .sin()
      .to(at::kFloat)
      .view({rows, columns})
      .requires_grad_();
}

// docs/features.md, Gradients: Weights that products use in bf16 or fp16, once for the ranks of a
// host | with `--shard`
TEST(HostCasts, AreThoseOfEachRankAndInMemoryThatAllShare) {
  test::RanksOptions options{.wire = test::Wire::shm, .local_sizes = {3, 1}};
  test::run_ranks(
      4,
      [](Communicator& world) {
        Weight large{.master = matrix(7, 5, 1), .compute = {}};
        Weight small{.master = matrix(2, 3, 2), .compute = {}};  // fewer rows than ranks
        HostCasts casts(world);
        for (const at::ScalarType number : {at::kBFloat16, at::kBFloat16}) {
          casts({&large}, number);
          casts({&large, &small}, number);
          for (const Weight* const weight : {&large, &small}) {
            const at::Tensor own = weight_for_products(weight->master, number);
            EXPECT_EQ(weight->compute.scalar_type(), own.scalar_type());
            EXPECT_TRUE(weight->compute.equal(own));
            EXPECT_FALSE(weight->compute.requires_grad());
          }
          barrier(world);
        }
        // A write of the first rank is seen by the others of its host, and by no other host.
        if (world.rank() == 0) large.compute.fill_(3);
        barrier(world);
        EXPECT_EQ(large.compute[6][4].item<float>() == 3, world.topology().host() == 0);
        barrier(world);
      },
      options);
}

}  // namespace
}  // namespace bp::trainer
