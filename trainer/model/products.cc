#include "trainer/model/products.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>

namespace bp::trainer {
namespace {

using at::Tensor;

// Returns fp16 as fp32, which is exact, and other types as they are.
Tensor widened(const Tensor& x) { return x.scalar_type() == at::kHalf ? x.to(at::kFloat) : x; }

}  // namespace

Tensor matrix_product(const Tensor& a, const Tensor& b) {
  return at::mm(widened(a), widened(b)).to(a.scalar_type());
}

Tensor matrix_products(const Tensor& a, const Tensor& b) {
  return at::bmm(widened(a), widened(b)).to(a.scalar_type());
}

Tensor matrix_product_f32(const Tensor& a, const Tensor& b) {
  return at::mm(widened(a), widened(b)).to(at::kFloat);
}

}  // namespace bp::trainer
