#include "trainer/tasks/custom/custom_head.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/passes/device_of.h"

namespace bp::trainer {
namespace {

using at::Tensor;

class CustomHead : public Head {
 public:
  CustomHead(std::shared_ptr<const CustomTask> task,
             const EncoderSpec& config,
             Parameters& parameters)
      : task_(std::move(task)),
        dropout_(config.hidden_dropout),
        tokens_(task_->reads() == EncoderOutput::tokens) {
    for (const HeadParameter& one : task_->parameters(config.hidden)) {
      parameters_.push_back(
          parameters.matrix(one.name, one.sizes, one.zero ? std::optional(0.0) : std::nullopt));
    }
  }

  [[nodiscard]] States reads() const override {
    return tokens_ ? States::all_tokens : States::first_tokens;
  }
  [[nodiscard]] bool reads_pooler() const override { return !tokens_; }

  [[nodiscard]] Tensor forward(const Encoder& encoder,
                               const Pass& pass,
                               const Tensor& states,
                               const Batch& batch) const override {
    const Dropout dropout = pass.dropout(dropout_, kHeadSite);
    Tensor outputs;
    if (tokens_) {
      const Tensor x = drop(pass.layout, states.to(at::kFloat), dropout);
      const Tensor mask = mask_of(batch);
      const Tensor own_mask = on_device_of(x, mask);
      const Tensor rows = at::index_select(x, 0, on_device_of(x, places_of(*pass.layout, mask)));
      const Tensor padded =
          rows.view({batch.rows, batch.length, x.size(1)}).mul(own_mask.unsqueeze(2));
      outputs = task_->forward({padded, own_mask, parameters_});
    } else {
      const Tensor x = drop(pass.first_layout, encoder.pool(pass, states), dropout);
      outputs = task_->forward({x, Tensor(), parameters_});
    }
    const auto wanted = static_cast<std::int64_t>(task_->outputs());
    if (outputs.dim() != 2 || outputs.size(0) != batch.rows || outputs.size(1) != wanted ||
        outputs.scalar_type() != at::kFloat) {
      refuse(concat("forward() of the task ", task_->name(), " did not return fp32 [", batch.rows,
                    ", ", wanted, "]"));
    }
    return pass.seen("outputs", outputs.contiguous());
  }

  [[nodiscard]] Loss loss(const Tensor& outputs, const Batch& batch) const override {
    const auto answers = static_cast<std::int64_t>(task_->answers().size());
    Tensor wanted = at::empty({batch.rows, answers}, at::kFloat);
    auto* const at = wanted.data_ptr<float>();
    for (std::int64_t i = 0; i < answers; ++i) {
      const std::vector<double>& values = batch.arrays[static_cast<std::size_t>(i)].reals;
      for (std::int64_t row = 0; row < batch.rows; ++row) {
        at[row * answers + i] = static_cast<float>(values[static_cast<std::size_t>(row)]);
      }
    }
    std::vector<Figure> figures;
    const Tensor losses = task_->losses(outputs, on_device_of(outputs, wanted), figures);
    if (losses.dim() != 1 || losses.size(0) != batch.rows) {
      refuse(concat("losses() of the task ", task_->name(), " did not return [", batch.rows, "]"));
    }
    Loss loss{losses.mean(), static_cast<double>(batch.rows)};
    for (const Figure& figure : figures) {
      loss.figures.push_back(
          {figure.name, at::scalar_tensor(figure.sum, at::kDouble), figure.weight});
    }
    return loss;
  }
  [[nodiscard]] std::vector<std::string> figures() const override { return task_->figures(); }

 private:
  // Returns which of [rows, length] are tokens, on the CPU.
  static Tensor mask_of(const Batch& batch) {
    std::vector<std::int64_t> lengths(batch.lengths.begin(), batch.lengths.end());
    return at::arange(batch.length).unsqueeze(0).lt(at::tensor(lengths).unsqueeze(1));
  }

  // Returns for each of the rows * length tokens its row in the states, and 0 for padding.
  static Tensor places_of(const Layout& layout, const Tensor& mask) {
    const std::vector<std::int64_t> begins(layout.offsets.begin(), layout.offsets.end() - 1);
    return at::arange(mask.size(1))
        .unsqueeze(0)
        .add(at::tensor(begins).unsqueeze(1))
        .mul(mask)
        .flatten();
  }

  std::shared_ptr<const CustomTask> task_;
  double dropout_;
  bool tokens_;
  std::vector<Tensor> parameters_;
};

}  // namespace

HeadMaker custom_head(std::shared_ptr<const CustomTask> task) {
  return [task = std::move(task)](const EncoderSpec& config, Parameters& parameters) {
    return std::make_unique<CustomHead>(task, config, parameters);
  };
}

}  // namespace bp::trainer
