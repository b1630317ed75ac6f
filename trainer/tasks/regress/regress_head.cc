#include "trainer/tasks/regress/regress_head.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mse_loss.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "trainer/model/onnx_graph.h"
#include "trainer/model/passes/device_of.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/linear_head.h"
#include "trainer/tasks/regress/regress_input.h"
#include "trainer/tasks/regress/target_scale.h"

namespace bp::trainer {
namespace {

using at::Tensor;

class RegressHead : public LinearHead {
 public:
  RegressHead(const EncoderSpec& config, Parameters& parameters)
      : LinearHead({1, label_config_of(config).dropout}, config, parameters),
        scale_(scale_of(config)) {}

  [[nodiscard]] Loss loss(const Tensor& outputs, const Batch& batch) const override {
    const std::vector<double>& values = batch.arrays[kTargetArray].reals;
    BP_CHECK(values.size() == static_cast<std::size_t>(batch.rows), "each sample needs a target");
    Tensor targets = at::empty({batch.rows}, at::kFloat);
    std::transform(values.begin(), values.end(), targets.data_ptr<float>(),
                   [&](double value) { return static_cast<float>(scale_.output_of(value)); });
    const Tensor own_targets = on_device_of(outputs, targets);
    return {at::mse_loss(outputs.squeeze(1), own_targets), static_cast<double>(batch.rows)};
  }

  // That of two normal distributions with variance 1.
  [[nodiscard]] Loss divergence(const Tensor& outputs,
                                const Tensor& others,
                                const Batch& batch) const override {
    return {at::mse_loss(outputs, others) / 2, static_cast<double>(batch.rows)};
  }

 private:
  [[nodiscard]] OnnxGraph::Value answer(OnnxGraph& graph,
                                        const OnnxGraph::Value& outputs) const override {
    if (!scale_.standardises()) return outputs;
    const auto constant = [&](double value) { return graph.constant(static_cast<float>(value)); };
    return graph.add(
        "Add", {graph.add("Mul", {outputs, constant(scale_.deviation)}), constant(scale_.mean)});
  }

  TargetScale scale_;
};

}  // namespace

std::unique_ptr<Head> make_regress_head(const EncoderSpec& config, Parameters& parameters) {
  return std::make_unique<RegressHead>(config, parameters);
}

}  // namespace bp::trainer
