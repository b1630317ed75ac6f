#include "trainer/tasks/classify/label_predictor.h"

#include <ATen/core/Tensor.h>

#include <cmath>
#include <utility>

#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/row_labels.h"

namespace bp::trainer {

LabelPredictor::LabelPredictor(std::vector<std::string> labels,
                               std::vector<int> label_map,
                               Options options)
    : labels_(std::move(labels)), label_map_(std::move(label_map)), options_(options) {}

std::vector<bool> LabelPredictor::answers(std::span<const std::int64_t> labels) const {
  std::vector<bool> answers(labels_.size());
  for (const std::int64_t label : labels) {
    answers[static_cast<std::size_t>(label_map_[static_cast<std::size_t>(label)])] = true;
  }
  return answers;
}

std::vector<bool> LabelPredictor::predictions(std::span<const float> probabilities) const {
  std::vector<bool> predictions;
  for (const float share : probabilities) predictions.push_back(share >= options_.threshold);
  return predictions;
}

std::string LabelPredictor::names(const std::vector<bool>& labels) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i]) names.push_back(labels_[i]);
  }
  return joined_labels(names, options_.separator);
}

std::vector<PredictionColumn> LabelPredictor::columns() const {
  std::vector<PredictionColumn> columns = {{"label"}, {"prediction"}};
  for (const std::string& label : labels_) columns.push_back({"p_" + label, true});
  return columns;
}

void LabelPredictor::keep(const Batch& block,
                          const at::Tensor& outputs,
                          std::vector<float>& kept) const {
  const auto* logits = outputs.const_data_ptr<float>();
  const std::size_t count = static_cast<std::size_t>(block.rows) * labels_.size();
  for (const float logit : std::span(logits, count)) {
    kept.push_back(static_cast<float>(1 / (1 + std::exp(-double{logit}))));
  }
}

void LabelPredictor::set_fields(const Sample& sample,
                                std::span<const float> kept,
                                std::vector<std::string>& fields) const {
  fields = {names(answers(sample.arrays[kLabelArray].integers)), names(predictions(kept))};
  for (const float share : kept) fields.push_back(probability_text(double{share}));
}

}  // namespace bp::trainer
