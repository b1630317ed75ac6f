// The decoder's weight is that of the word embeddings: in files it may be missing, equal, or alone.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/unit/model/golden_tensors.h"
#include "tests/unit/model/refusal.h"
#include "tests/unit/tasks/pretrain/golden_pretrain.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/weights.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kWords = "bert.embeddings.word_embeddings.weight";
const std::string kDecoder = "cls.predictions.decoder.weight";

class TiedWeights : public GoldenPretrain {
 protected:
  ~TiedWeights() override { std::filesystem::remove(path_); }

  // Writes the golden model's tensors, changed by `change`, and loads them.
  template <class Change>
  LoadReport load_changed(const Change& change) {
    auto tensors = read_tensors(kGoldenPretrain + "/model.safetensors");
    change(tensors);
    std::vector<SafetensorsItem> items;
    for (const auto& [name, tensor] : tensors) {
      items.push_back({name, "F32", tensor.sizes().vec(), tensor.const_data_ptr()});
    }
    write_safetensors(path_, items);
    return load_weights(*model_, path_);
  }
  [[nodiscard]] at::Tensor words() const { return model_->parameters()[0].second.detach(); }

  std::string path_ = ::testing::TempDir() + concat("bp_tied_", ::getpid(), ".safetensors");
  std::unique_ptr<Bert> model_ = with_both();
  at::Tensor golden_ = words().clone();
};

TEST_F(TiedWeights, EqualOnesAreAccepted) {
  const LoadReport report = load_changed([](auto& tensors) {
    tensors[kDecoder] = tensors[kWords].clone();
    tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"].clone();
  });
  EXPECT_TRUE(report.complete());
  EXPECT_THAT(report.unexpected, IsEmpty());
  EXPECT_TRUE(at::equal(words(), golden_));
}

TEST_F(TiedWeights, EitherNameSuffices) {
  words().zero_();
  const LoadReport report = load_changed([](auto& tensors) {
    tensors[kDecoder] = tensors[kWords];
    tensors.erase(kWords);
  });
  EXPECT_TRUE(report.complete());
  EXPECT_TRUE(at::equal(words(), golden_));
}

TEST_F(TiedWeights, DifferentOnesAreRefused) {
  const auto with_other = [](const at::Tensor& other) {
    return [other](auto& tensors) { tensors[kDecoder] = other; };
  };
  for (const at::Tensor& other : {at::Tensor(golden_ + 0.01), at::Tensor(golden_.slice(0, 1))}) {
    EXPECT_THAT(
        test::refusal([&] { (void)load_changed(with_other(other.contiguous())); }),
        HasSubstr("'cls.predictions.decoder.weight' differs from "
                  "'bert.embeddings.word_embeddings.weight'; a model of bp has one weight for "
                  "both: tie them where the file is made, or leave out "
                  "'cls.predictions.decoder.weight'"));
  }
}

TEST_F(TiedWeights, ASavedModelHasTheNamesOfTransformers) {
  save_weights(*model_, path_);
  const auto saved = read_tensors(path_);
  const auto golden = read_tensors(kGoldenPretrain + "/model.safetensors");
  EXPECT_EQ(saved.size(), golden.size());
  for (const auto& [name, tensor] : golden) {
    EXPECT_TRUE(at::equal(saved.at(name), tensor)) << name;
  }
}

}  // namespace
}  // namespace bp::trainer
