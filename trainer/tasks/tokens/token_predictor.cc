#include "trainer/tasks/tokens/token_predictor.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trainer/tasks/tokens/token_options.h"
#include "trainer/tasks/tokens/word_list.h"

namespace bp::trainer {

TokenPredictor::TokenPredictor(std::vector<std::string> tags, std::vector<int> tag_map)
    : tags_(std::move(tags)), tag_map_(std::move(tag_map)) {}

int TokenPredictor::tag_of(std::int64_t target) const {
  return target < 0 ? -1 : tag_map_[static_cast<std::size_t>(target)];
}

std::vector<PredictionColumn> TokenPredictor::columns() const {
  return {{"tags"}, {"predictions"}};
}

void TokenPredictor::keep(const Batch& block,
                          const at::Tensor& outputs,
                          std::vector<float>& kept) const {
  const auto* logits = outputs.const_data_ptr<float>();
  const BatchArray& words = block.arrays[kWordsArray];
  std::size_t first_token = 0;
  for (std::size_t row = 0; row < block.lengths.size(); ++row) {
    const auto own = std::span(words.integers)
                         .subspan(row * static_cast<std::size_t>(words.width),
                                  static_cast<std::size_t>(words.sizes[row]));
    for (const std::int64_t place : own) {
      const std::size_t token = first_token + static_cast<std::size_t>(place);
      const std::span scores(logits + token * tags_.size(), tags_.size());
      kept.push_back(static_cast<float>(std::ranges::max_element(scores) - scores.begin()));
    }
    first_token += static_cast<std::size_t>(block.lengths[row]);
  }
}

std::size_t TokenPredictor::kept_of(const Sample& sample) const {
  return sample.arrays[kWordsArray].integers.size();
}

void TokenPredictor::set_fields(const Sample& sample,
                                std::span<const float> kept,
                                std::vector<std::string>& fields) const {
  std::vector<std::string> labels;
  std::vector<std::string> predictions;
  for (const std::int64_t place : sample.arrays[kWordsArray].integers) {
    const int tag = tag_of(sample.arrays[kTargetsArray].integers[static_cast<std::size_t>(place)]);
    if (tag >= 0) labels.push_back(tags_[static_cast<std::size_t>(tag)]);
  }
  for (const float tag : kept) predictions.push_back(tags_[static_cast<std::size_t>(tag)]);
  fields = {join_words(labels), join_words(predictions)};
}

}  // namespace bp::trainer
