// The predictions of a model that tags words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/predictor.h"

namespace bp::trainer {

class TokenPredictor : public Predictor {
 public:
  // `tags`: the model's; `tag_map`: the model's number of each of the samples' tags.
  TokenPredictor(std::vector<std::string> tags, std::vector<int> tag_map);

  [[nodiscard]] const std::vector<std::string>& tags() const { return tags_; }
  // Returns the model's number of a target; -1: the token has none.
  [[nodiscard]] int tag_of(std::int64_t target) const;

  // The tags of the sample's words, with blanks between them. "tags" is empty if they are unknown.
  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  // outputs: logits, [tokens, tags]. Keeps the most probable tag of each word.
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& sample) const override;
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;

 private:
  std::vector<std::string> tags_;
  std::vector<int> tag_map_;
};

}  // namespace bp::trainer
