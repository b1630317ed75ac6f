// The predictions of a classifier: a label, and the probability of each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/predictor.h"

namespace bp::trainer {

class ClassPredictor : public Predictor {
 public:
  // `labels`: the model's; `label_map`: the model's class of each of the samples' labels.
  ClassPredictor(std::vector<std::string> labels, std::vector<int> label_map);

  [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }
  // Returns the true class of a sample with this label; -1: it has none.
  [[nodiscard]] int class_of(std::int64_t label) const;

  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  // outputs: logits, [rows, labels]. Keeps probabilities.
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override {
    return labels_.size();
  }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;

 private:
  std::vector<std::string> labels_;
  std::vector<int> label_map_;
};

// Returns the class with the highest number.
[[nodiscard]] int most_probable(std::span<const float> probabilities);

}  // namespace bp::trainer
