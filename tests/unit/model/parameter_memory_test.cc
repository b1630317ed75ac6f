// When a model's parameters take memory, and how long.
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "tests/support/bytes_in_memory.h"
#include "tests/unit/model/golden.h"
#include "trainer/model/bert.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

using test::bytes_in_memory;
using ::testing::IsEmpty;

// Ranks of a host move the parameters into memory that they share.
TEST(ParameterMemory, IsFreeOnceTheParametersHaveMoved) {
  const Bert model(golden_config(0), make_classifier_head, Precision::fp32, 7);
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> left;
  for (const auto& [name, parameter] : model.parameters()) {
    left.push_back(parameter.storage().getWeakStorageImpl());
    parameter.set_data(parameter.detach().clone());
    EXPECT_TRUE(left.back().expired()) << name;
  }
}

// Only rank 0 of a job has values when training begins.
TEST(ParameterMemory, IsNotTakenWithoutValues) {
  EncoderSpec config = preset("tiny").value();
  config.vocabulary = 200'000;
  config.head = head_of({.labels = {"a", "b"}});
  const Bert model(config, make_classifier_head, Precision::fp32, std::nullopt);
  const at::Tensor& words = model.parameters()[0].second;
  ASSERT_GT(words.nbytes(), 100'000'000);
  EXPECT_LT(bytes_in_memory(words.data_ptr(), words.nbytes()), 1'000'000);
}

TEST(ParameterMemory, IsNotWrittenWhereAFileIsOnlyCompared) {
  Bert model(golden_config(0), make_classifier_head, Precision::fp32, 7);
  const Bert same(golden_config(0), make_classifier_head, Precision::fp32, 7);
  const LoadReport report =
      load_weights(model, kGolden + "/model.safetensors", {"classifier."}, false);
  EXPECT_THAT(report.missing, testing::ElementsAre("classifier.bias", "classifier.weight"));
  EXPECT_THAT(report.unexpected, IsEmpty());
  EXPECT_THAT(report.misshaped, IsEmpty());
  for (std::size_t i = 0; i < same.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(model.parameters()[i].second, same.parameters()[i].second)) << i;
  }
}

}  // namespace
}  // namespace bp::trainer
