#include "comm/torch/tensor_view.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "bp/error.h"
#include "bp/torch/collective.h"

namespace bp {
namespace {

using ::testing::HasSubstr;

std::string refusal(const at::Tensor& tensor) {
  try {
    (void)view_of(tensor);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(TensorView, IsTheTensorsMemory) {
  const at::Tensor tensor = at::zeros({2, 3}, at::kBFloat16);
  const View view = view_of(tensor);
  EXPECT_EQ(view.data, tensor.const_data_ptr());
  EXPECT_EQ(view.count, 6U);
  EXPECT_EQ(view.type, DataType::bf16);
}

TEST(TensorView, KnowsEveryTypeOfBp) {
  const std::pair<at::ScalarType, DataType> types[] = {
      {at::kByte, DataType::u8},          {at::kChar, DataType::i8},
      {at::kInt, DataType::i32},          {at::kLong, DataType::i64},
      {at::kHalf, DataType::f16},         {at::kBFloat16, DataType::bf16},
      {at::kFloat, DataType::f32},        {at::kDouble, DataType::f64},
      {at::kUInt16, DataType::u16},       {at::kBool, DataType::boolean},
      {at::kComplexFloat, DataType::c64},
  };
  for (const auto& [torch_type, bp_type] : types) {
    EXPECT_EQ(view_of(at::zeros({1}, torch_type)).type, bp_type);
  }
  EXPECT_EQ(std::size(types), kDataTypes.size());
}

// docs/acceptance.md, Values: A tensor that is not contiguous, that is sparse or undefined, or that
// has another type than bp's is refused.
TEST(TensorView, RefusesUnsupportedTensors) {
  EXPECT_EQ(refusal(at::Tensor()), "view_of: the tensor is undefined");
  EXPECT_EQ(refusal(at::zeros({2, 3}).t()),
            "view_of: the tensor of shape [3, 2] has strides [1, 3] and is not contiguous: pass "
            "x.contiguous() and copy the result back");
  EXPECT_THAT(refusal(at::zeros({1}, at::kShort)),
              HasSubstr("no collective for elements of type Short: convert the tensor to one of u8 "
                        "i8 i32 i64 f16 bf16 f32 f64 u16 bool c64"));
  EXPECT_THAT(refusal(at::zeros({2, 2}).to_sparse()),
              HasSubstr("a Sparse tensor on cpu where a strided one in memory is needed"));
  EXPECT_THAT(refusal(at::zeros({2, 2}, at::kMeta)),
              HasSubstr("a Strided tensor on meta where a strided one in memory is needed"));
}

TEST(OwnRows, AreTheBlockOfThisRankAndNeedRows) {
  const Communicator alone = Communicator::create();
  const at::Tensor whole = at::zeros({5, 2});
  EXPECT_TRUE(own_rows(alone, whole).is_same_size(whole));
  EXPECT_EQ(own_rows(alone, whole).data_ptr(), whole.data_ptr())
      << "one rank must get a view without a copy";
  EXPECT_THROW((void)own_rows(alone, at::zeros({})), Error);
  EXPECT_THROW((void)own_rows(alone, at::Tensor()), Error);
}

}  // namespace
}  // namespace bp
