#include "trainer/optim/laid_out_like.h"

#include <ATen/ops/empty_like.h>

namespace bp::trainer {

at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& gradient) {
  if (gradient.is_sparse()) return laid_out_like(parameter, gradient.to_dense());
  if (gradient.strides() == parameter.strides()) return gradient;
  return at::empty_like(parameter).copy_(gradient);
}

}  // namespace bp::trainer
