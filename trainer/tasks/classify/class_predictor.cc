#include "trainer/tasks/classify/class_predictor.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/softmax.h"

namespace bp::trainer {

int most_probable(std::span<const float> probabilities) {
  return static_cast<int>(std::ranges::max_element(probabilities) - probabilities.begin());
}

ClassPredictor::ClassPredictor(std::vector<std::string> labels, std::vector<int> label_map)
    : labels_(std::move(labels)), label_map_(std::move(label_map)) {}

int ClassPredictor::class_of(std::int64_t label) const {
  return label < 0 ? -1 : label_map_[static_cast<std::size_t>(label)];
}

std::vector<PredictionColumn> ClassPredictor::columns() const {
  std::vector<PredictionColumn> columns = {{"label"}, {"prediction"}};
  for (const std::string& label : labels_) columns.push_back({"p_" + label, true});
  return columns;
}

void ClassPredictor::keep(const Batch& block,
                          const at::Tensor& outputs,
                          std::vector<float>& kept) const {
  const std::size_t classes = labels_.size();
  const auto* logits = outputs.const_data_ptr<float>();
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.rows); ++row) {
    append_probabilities(std::span(logits + row * classes, classes), kept);
  }
}

void ClassPredictor::set_fields(const Sample& sample,
                                std::span<const float> kept,
                                std::vector<std::string>& fields) const {
  const int label = class_of(sample.arrays[kLabelArray].integers.front());
  fields.assign(1, label < 0 ? "" : labels_[static_cast<std::size_t>(label)]);
  fields.push_back(labels_[static_cast<std::size_t>(most_probable(kept))]);
  for (const float share : kept) fields.push_back(probability_text(double{share}));
}

}  // namespace bp::trainer
