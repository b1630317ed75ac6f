#include "trainer/tasks/divergence.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log_softmax.h>

namespace bp::trainer {

at::Tensor row_divergences(const at::Tensor& logits, const at::Tensor& others) {
  const at::Tensor log_p = at::log_softmax(logits, 1);
  return (log_p.exp() * (log_p - at::log_softmax(others, 1))).sum(1);
}

}  // namespace bp::trainer
