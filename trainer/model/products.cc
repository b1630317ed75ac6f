#include "trainer/model/products.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>

namespace bp::trainer {

using at::Tensor;

Tensor for_products(const Tensor& x, Bf16Products how) {
  if (!x.is_cpu()) return x;
  const at::ScalarType type = x.scalar_type();
  const bool widens = type == at::kHalf || (type == at::kBFloat16 && how == Bf16Products::widened);
  return widens ? x.to(at::kFloat) : x;
}

Tensor weight_for_products(const Tensor& master, at::ScalarType number, Bf16Products how) {
  return for_products(master.detach().to(number), how);
}

Tensor matrix_product(const Tensor& a, const Tensor& b, at::ScalarType to) {
  // A device's products need not be rounded on the way.
  if (!a.is_cpu() && to == at::kFloat && a.scalar_type() != to) return at::mm(a, b, to);
  return at::mm(a, b).to(to);
}

Tensor matrix_products(const Tensor& a, const Tensor& b, at::ScalarType to) {
  return at::bmm(a, b).to(to);
}

}  // namespace bp::trainer
