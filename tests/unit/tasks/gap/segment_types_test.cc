// The first token type of a pretrained model, for GAP's head "segment".

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/unit/model/golden.h"
#include "tests/unit/model/golden_tensors.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/tasks/gap/gap_head.h"

namespace bp::trainer {
namespace {

class SegmentTypes : public ::testing::Test {
 protected:
  static EncoderSpec four_types() {
    EncoderSpec config = golden_config(0);
    config.token_types = 4;
    return config;
  }
  [[nodiscard]] at::Tensor types() const {
    for (const auto& [name, parameter] : model_.parameters()) {
      if (name == "bert.embeddings.token_type_embeddings.weight") return parameter.detach();
    }
    return {};
  }
  // Writes a file with one embedding of two types.
  [[nodiscard]] std::string write(const std::string& name,
                                  const at::Tensor& values,
                                  const char* type) {
    write_safetensors(folder_.path("model.safetensors"),
                      {{name, type, values.sizes().vec(), values.const_data_ptr()}});
    return folder_.path("model.safetensors");
  }

  Scratch folder_;
  Bert model_{four_types(), make_gap_head(GapHeadKind::segment), Precision::fp32, 1};
};

TEST_F(SegmentTypes, OnlyTypeZeroIsThePretrainedOne) {
  const at::Tensor drawn = types().clone();
  const std::string file = kGolden + "/model.safetensors";
  EXPECT_TRUE(take_first_token_type(model_, file));
  const at::Tensor stored = read_tensors(file).at("bert.embeddings.token_type_embeddings.weight");
  EXPECT_TRUE(at::equal(types()[0], stored[0]));
  EXPECT_FALSE(at::equal(drawn[0], stored[0]));
  EXPECT_TRUE(at::equal(types().slice(0, 1), drawn.slice(0, 1)));
}

TEST_F(SegmentTypes, ComeFromEachTypeAndName) {
  const at::Tensor values = at::arange(48).view({2, 24});
  const std::string suffix = "embeddings.token_type_embeddings.weight";
  const at::Tensor halves = values.to(at::kHalf) + 1;
  EXPECT_TRUE(take_first_token_type(model_, write(suffix, halves, "F16")));
  EXPECT_EQ(types()[0][23].item<float>(), 24);
  const at::Tensor bf16 = values.to(at::kBFloat16) + 2;
  EXPECT_TRUE(take_first_token_type(model_, write("module.bert." + suffix, bf16, "BF16")));
  EXPECT_EQ(types()[0][23].item<float>(), 25);
}

TEST_F(SegmentTypes, OtherFilesChangeNothing) {
  const at::Tensor drawn = types().clone();
  const std::string suffix = "embeddings.token_type_embeddings.weight";
  const at::Tensor narrow = at::ones({2, 8});
  EXPECT_FALSE(take_first_token_type(model_, write(suffix, narrow, "F32")));
  EXPECT_FALSE(take_first_token_type(model_, write("other", narrow, "F32")));
  const std::string whole = write(suffix, at::ones({2, 24}, at::kLong), "I64");
  EXPECT_EQ(bp::test::refusal_of([&] { return take_first_token_type(model_, whole); }),
            whole + ": '" + suffix + "' is of type I64, not F32, F16 or BF16");
  EXPECT_TRUE(at::equal(types(), drawn));
}

}  // namespace
}  // namespace bp::trainer
