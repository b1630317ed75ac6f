#include "trainer/tasks/classify/classifier_head.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <iterator>
#include <vector>

#include "bp/error.h"
#include "trainer/model/bert.h"
#include "trainer/model/families/family.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/class_loss.h"
#include "trainer/tasks/linear_head.h"

namespace bp::trainer {
namespace {

using at::Tensor;

class ClassifierHead : public LinearHead {
 public:
  ClassifierHead(const ClassConfig& own,
                 const ClassLossOptions& loss,
                 const EncoderSpec& config,
                 Parameters& parameters)
      : LinearHead({std::ssize(own.labels), own.dropout}, config, parameters),
        loss_(loss),
        labels_(static_cast<std::int64_t>(own.labels.size())),
        multi_label_(own.multi_label),
        weights_(own.weights) {}

  [[nodiscard]] Loss loss(const Tensor& outputs, const Batch& batch) const override {
    if (multi_label_) return multi_label_loss(outputs, answers_of(batch), loss_, weights_);
    return class_loss(outputs, labels_of(batch), loss_, weights_);
  }

  [[nodiscard]] Loss divergence(const Tensor& outputs,
                                const Tensor& others,
                                const Batch& batch) const override {
    if (multi_label_) return multi_label_divergence(outputs, others);
    return class_divergence(outputs, others, labels_of(batch), weights_);
  }

 private:
  static Tensor labels_of(const Batch& batch) {
    const auto& labels = batch.arrays[kLabelArray].integers;
    return at::from_blob(const_cast<std::int64_t*>(labels.data()), {batch.rows}, at::kLong).clone();
  }

  // Returns fp32 [rows, labels]: 1 for each label that a row has, else 0.
  [[nodiscard]] Tensor answers_of(const Batch& batch) const {
    const BatchArray& array = batch.arrays[kLabelArray];
    Tensor answers = at::zeros({batch.rows, labels_}, at::kFloat);
    auto* row = answers.data_ptr<float>();
    const std::int64_t* labels = array.integers.data();
    for (const std::int32_t count : array.sizes) {
      for (std::int32_t i = 0; i < count; ++i) row[labels[i]] = 1;
      labels += array.width;
      row += labels_;
    }
    return answers;
  }

  ClassLossOptions loss_;
  std::int64_t labels_;
  bool multi_label_;
  std::vector<double> weights_;
};

}  // namespace

HeadMaker classifier_head(const ClassLossOptions& loss) {
  return [loss](const EncoderSpec& config, Parameters& parameters) {
    const ClassConfig own = class_config_of(config);
    if (own.labels.empty()) {
      throw Error(ErrorCode::invalid_argument, "a classification head needs at least one label");
    }
    return std::make_unique<ClassifierHead>(own, loss, config, parameters);
  };
}

std::unique_ptr<Head> make_classifier_head(const EncoderSpec& config, Parameters& parameters) {
  return classifier_head({})(config, parameters);
}

void order_outputs(Bert& model, const std::vector<int>& from) {
  const at::NoGradGuard no_grad;
  const std::string& outputs_of = names_of(model.config()).classifier;
  std::vector<std::int64_t> order(from.begin(), from.end());
  for (const auto& [name, parameter] : model.parameters()) {
    if (!name.starts_with(outputs_of + ".")) continue;
    const at::Tensor rows = at::from_blob(order.data(), {parameter.size(0)}, at::kLong);
    at::Tensor outputs = parameter;
    outputs.copy_(at::index_select(parameter, 0, rows.to(parameter.device())));
  }
  model.parameters_changed();
}

}  // namespace bp::trainer
