#include "trainer/train/methods/distillation.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "trainer/model/passes/device_of.h"

namespace bp::trainer {
namespace {

using at::Tensor;

constexpr const char* kSoftFigure = "soft_loss";
constexpr const char* kHiddenFigure = "hidden_loss";

// Returns for each of the layout's tokens 1 / (length of its sample), and 0 for those that only
// fill up: fp64 [tokens], on the CPU.
Tensor shares_of_tokens(const Layout& layout) {
  Tensor shares = at::empty({layout.tokens}, at::kDouble);
  auto* share = shares.data_ptr<double>();
  for (const std::int32_t row : layout.row_of_token) {
    *share++ = row < 0 ? 0 : 1.0 / layout.length(row);
  }
  return shares;
}

}  // namespace

Loss soft_loss(const Bert& student,
               const Tensor& teacher_outputs,
               const Tensor& student_outputs,
               const Batch& batch,
               double temperature) {
  Loss loss =
      student.divergence(teacher_outputs / temperature, student_outputs / temperature, batch);
  loss.mean = loss.mean * (temperature * temperature);
  return loss;
}

int teacher_layer(int student_layer, int student_layers, int teacher_layers) {
  return static_cast<int>(
      std::lround(static_cast<double>(student_layer) * teacher_layers / student_layers));
}

Tensor hidden_difference(const Layout& layout,
                         const std::vector<Tensor>& student,
                         const std::vector<Tensor>& teacher,
                         const Tensor& projection) {
  const Tensor shares =
      on_device_of(teacher.front(), shares_of_tokens(layout).to(teacher.front().scalar_type()));
  Tensor sum;
  const auto layers = static_cast<int>(student.size()) - 1;
  for (int i = 0; i <= layers; ++i) {
    const auto own = static_cast<std::size_t>(i);
    const auto other =
        static_cast<std::size_t>(teacher_layer(i, layers, static_cast<int>(teacher.size()) - 1));
    Tensor states = student[own].to(shares.scalar_type());
    if (projection.defined()) states = at::linear(states, projection);
    const Tensor of_tokens = (states - teacher[other]).square().mean(1);
    const Tensor of_layer = at::dot(of_tokens, shares);
    sum = sum.defined() ? sum + of_layer : of_layer;
  }
  return sum / (layers + 1);
}

Distillation::Distillation(std::unique_ptr<const Bert> teacher,
                           const DistillOptions& options,
                           Bert& student)
    : teacher_(std::move(teacher)), options_(options) {
  const int width = teacher_->config().hidden;
  if (reads_states() && width != student.config().hidden) student.add_projection(width);
}

Loss Distillation::operator()(const Bert& model,
                              const Bert::WithStates& student,
                              const Loss& task_loss,
                              const Batch& batch) const {
  Bert::WithStates wanted;
  {
    const at::NoGradGuard no_grad;
    if (reads_states()) {
      wanted = teacher_->forward_with_states(batch, nullptr);
    } else {
      wanted.outputs = teacher_->forward(batch, nullptr);
    }
    wanted.outputs = on_device_of(student.outputs, wanted.outputs);
  }
  Loss loss = task_loss;
  const Loss soft = soft_loss(model, wanted.outputs, student.outputs, batch, options_.temperature);
  loss.mean = (1 - options_.weight) * task_loss.mean + options_.weight * soft.mean;
  loss.figures.push_back(
      {kSoftFigure, soft.mean.detach().to(at::kDouble) * soft.weight, soft.weight});
  if (!reads_states()) return loss;
  // The mean over all ranks' samples, whatever their labels weigh.
  const Tensor difference =
      hidden_difference(*student.layout, student.states, wanted.states, model.projection());
  loss.figures.push_back(
      {kHiddenFigure, difference.detach().to(at::kDouble), static_cast<double>(batch.rows)});
  loss.mean = loss.mean + difference * (options_.hidden / loss.weight);
  return loss;
}

std::vector<const char*> Distillation::figures() const {
  return reads_states() ? std::vector{kSoftFigure, kHiddenFigure} : std::vector{kSoftFigure};
}

}  // namespace bp::trainer
