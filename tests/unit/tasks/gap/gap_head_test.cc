// The heads for GAP.
#include "trainer/tasks/gap/gap_head.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/refusal.h"
#include "tests/unit/tasks/golden_head.h"
#include "tests/unit/tasks/small_model.h"
#include "trainer/tasks/gap/gap_input.h"

namespace bp::trainer {
namespace {

const std::map<std::string, GapHeadKind> kKinds = {
    {"concat", GapHeadKind::concat}, {"mul", GapHeadKind::mul}, {"segment", GapHeadKind::segment}};

class GoldenGap : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::unique_ptr<Bert> model() {
    return golden_.model(make_gap_head(kKinds.at(GetParam())),
                         GetParam() == "segment" ? "-" : "bert.pooler.");
  }

  GoldenHead golden_{"gap_" + GetParam(), [](const auto& golden, int step) {
                       std::vector<BatchArray> arrays(3);
                       const auto rows = [&](const char* name) {
                         return vector_of<std::int64_t>(golden.rows(name, step));
                       };
                       arrays[kGapLabel].integers = rows("targets");
                       if (GetParam() != "segment") {  // which does not read them
                         arrays[kGapPositions].integers = rows("positions");
                       }
                       return arrays;
                     }};
};

// docs/acceptance.md, Tasks: Heads for GAP compute what the same heads in PyTorch compute.
TEST_P(GoldenGap, NumbersAndGradientsEqualThoseOfPyTorch) {
  golden_.expect_first_step(*model(), GoldenHead::kRows);
}

// docs/features.md, Models and losses: GAP's heads concat, mul and segment | `--gap-head`
TEST_P(GoldenGap, TwentyStepsEqualThoseOfPyTorch) { golden_.expect_training(*model()); }

INSTANTIATE_TEST_SUITE_P(Kinds, GoldenGap, ::testing::Values("concat", "mul", "segment"));

// The vector is normal with deviation 1, whatever that of the other weights is.
TEST(GapHead, TheVectorOfMulBeginsAsStandardNormal) {
  EncoderSpec config = small_config();
  config.hidden = 4096;
  config.heads = 64;
  config.layers = 1;
  config.intermediate = 8;
  const Bert model(config, make_gap_head(GapHeadKind::mul), Precision::fp32, 1);
  const auto& [name, vector] = model.parameters().back();
  EXPECT_EQ(name, "neither");
  EXPECT_NEAR(vector.detach().mean().item<double>(), 0, 5 / std::sqrt(4096));
  EXPECT_NEAR(vector.detach().std().item<double>(), 1, 5 / std::sqrt(2 * 4096));
}

// Positions count from each sample's first token, although the states have no padding.
TEST(GapHead, PositionsAreThoseOfTheSample) {
  const Bert model(small_config(), make_gap_head(GapHeadKind::mul), Precision::bf16, 1);
  Batch batch = small_batch();
  batch.arrays.resize(3);
  batch.arrays[kGapPositions].integers = {2, 0, 1, 1, 1, 0};
  const at::Tensor h = model.hidden_states(batch);
  const at::Tensor n = model.parameters().back().second.detach();
  const auto product = [&](const at::Tensor& x, const at::Tensor& y) {
    return x.dot(y).item<float>() / std::sqrt(8.0F);
  };
  const at::Tensor expected =
      at::tensor({product(h[2], n), product(h[2], h[0]), product(h[2], h[1]),  //
                  product(h[4], n), product(h[4], h[4]), product(h[4], h[3])})
          .view({2, 3});
  EXPECT_TRUE(at::allclose(model.forward(batch, nullptr), expected, 1e-5, 1e-5));
  const TrainingStep step{1, 1};
  const at::Tensor in_bf16 = model.forward(batch, &step);
  EXPECT_EQ(in_bf16.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(in_bf16, expected, 0.1, 0.1));
}

TEST(GapHead, ComparesTheAnswersOfSamples) {
  const Bert model(small_config(), make_gap_head(GapHeadKind::mul), Precision::fp32, 1);
  const at::Tensor p = at::tensor({0.0, 1.0, 2.0, -1.0, 3.0, 0.5}, at::kDouble).view({2, 3});
  const at::Tensor q = at::tensor({1.0, 1.0, 0.0, 2.0, -2.0, 0.0}, at::kDouble).view({2, 3});
  const at::Tensor logs = p.log_softmax(1);
  const at::Tensor right = (logs.exp() * (logs - q.log_softmax(1))).sum() / 2;
  const Loss loss = model.divergence(p, q, small_batch());
  EXPECT_EQ(loss.weight, 2);
  EXPECT_NEAR(loss.mean.item<double>(), right.item<double>(), 1e-14);
}

TEST(GapHead, SegmentNeedsFourTypes) {
  EXPECT_EQ(bp::test::refusal_of([] {
              const Bert model(small_config(), make_gap_head(GapHeadKind::segment), Precision::fp32,
                               1);
              return 0;
            }),
            "the head segment needs 4 token types, and 'type_vocab_size' is 2");
}

}  // namespace
}  // namespace bp::trainer
