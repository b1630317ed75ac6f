// The head of a model that gives a sample any number of labels.
#include "trainer/tasks/classify/classifier_head.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/tasks/golden_head.h"

namespace bp::trainer {
namespace {

class GoldenLabels : public ::testing::TestWithParam<int> {
 protected:
  GoldenHead golden_{"labels_" + std::to_string(GetParam()), [](const auto& golden, int step) {
                       return std::vector{golden.labels_of(golden.rows("targets", step))};
                     }};
};

// docs/acceptance.md, Tasks: Heads for tags, for numbers and for several labels compute what
// transformers computes: logits, loss and every gradient, and 20 steps of AdamW to 1e-4.
TEST_P(GoldenLabels, NumbersAndGradientsEqualTransformers) {
  golden_.expect_first_step(*golden_.model(classifier_head({})), GoldenHead::kRows);
}

TEST_P(GoldenLabels, TwentyStepsEqualTransformers) {
  golden_.expect_training(*golden_.model(classifier_head({})));
}

INSTANTIATE_TEST_SUITE_P(Configurations, GoldenLabels, ::testing::Values(0, 1));

}  // namespace
}  // namespace bp::trainer
