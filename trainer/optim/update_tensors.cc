#include "trainer/optim/update_tensors.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>

#include <cstdint>

#include "trainer/optim/in_parallel.h"

namespace bp::trainer {

using at::Tensor;

void lion_update(Tensor& parameter, const Tensor& gradient, Tensor& exp_avg, const LionStep& step) {
  const Tensor mean = exp_avg.mul(step.beta1).add_(gradient, 1 - step.beta1);
  parameter.mul_(step.kept).sub_(mean.sign(), step.lr);
  exp_avg.mul_(step.beta2).add_(gradient, 1 - step.beta2);
}

void adadelta_update(Tensor& parameter,
                     const Tensor& gradient,
                     Tensor& square_avg,
                     Tensor& acc_delta,
                     const AdadeltaStep& step) {
  const Tensor slope = gradient.add(parameter, step.weight_decay);
  square_avg.mul_(step.rho).addcmul_(slope, slope, 1 - step.rho);
  const Tensor delta =
      acc_delta.add(step.epsilon).sqrt_().div_(square_avg.add(step.epsilon).sqrt_()).mul_(slope);
  acc_delta.mul_(step.rho).addcmul_(delta, delta, 1 - step.rho);
  parameter.sub_(delta, step.lr);
}

Tensor squares_of_pieces(const Tensor& x) {
  const Tensor squares = x.square().as_strided({x.numel()}, {1});
  const std::int64_t pieces = squares.numel() / kGrain;
  const Tensor sums = squares.slice(0, 0, pieces * kGrain).view({pieces, kGrain}).sum(1);
  const Tensor rest = squares.slice(0, pieces * kGrain);
  return rest.numel() == 0 ? sums : at::cat({sums, rest.sum().reshape({1})});
}

Tensor lamb_direction(const Tensor& parameter,
                      const Tensor& gradient,
                      Tensor& exp_avg,
                      Tensor& exp_avg_sq,
                      const LambStep& step) {
  exp_avg.mul_(step.beta1).add_(gradient, 1 - step.beta1);
  exp_avg_sq.mul_(step.beta2).addcmul_(gradient, gradient, 1 - step.beta2);
  const Tensor root = exp_avg_sq.mul(step.correction2).sqrt_().add_(step.epsilon);
  return exp_avg.mul(step.correction1).div_(root).add_(parameter, step.weight_decay);
}

Tensor trust_ratio(const Tensor& parameter, const Tensor& update) {
  const Tensor parameters = parameter.sum();
  const Tensor updates = update.sum();
  const Tensor is_one = parameters.eq(0).logical_or(updates.eq(0));
  return at::where(is_one, 1.0, (parameters / updates).sqrt());
}

void lamb_update(Tensor& parameter,
                 const Tensor& gradient,
                 Tensor& exp_avg,
                 Tensor& exp_avg_sq,
                 double lr,
                 const LambStep& step) {
  Tensor update = lamb_direction(parameter, gradient, exp_avg, exp_avg_sq, step);
  if (parameter.dim() >= 2) {
    update.mul_(trust_ratio(squares_of_pieces(parameter), squares_of_pieces(update)));
  }
  parameter.sub_(update, lr);
}

}  // namespace bp::trainer
