// The predictions of a classifier that gives a sample any number of labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/predictor.h"

namespace bp::trainer {

class LabelPredictor : public Predictor {
 public:
  struct Options {
    double threshold = 0.5;  // labels of this probability or more are predicted
    char separator = '|';    // between the labels of a row
  };
  // `labels`: the model's; `label_map`: the model's place of each of the samples' labels.
  LabelPredictor(std::vector<std::string> labels, std::vector<int> label_map, Options options);

  [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }
  [[nodiscard]] const Options& options() const { return options_; }
  // Return for each of the model's labels whether a sample with these labels has it, and whether a
  // model with these probabilities predicts it.
  [[nodiscard]] std::vector<bool> answers(std::span<const std::int64_t> labels) const;
  [[nodiscard]] std::vector<bool> predictions(std::span<const float> probabilities) const;
  // Returns the names of these labels, with the separator between them.
  [[nodiscard]] std::string names(const std::vector<bool>& labels) const;

  // label, prediction, and the probability of each label.
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
  Options options_;
};

}  // namespace bp::trainer
