// When a model's parameters take memory, and how long.
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <vector>

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "tests/unit/model/golden.h"
#include "trainer/model/bert.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

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

}  // namespace
}  // namespace bp::trainer
