#include "trainer/model/products.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>

#include "trainer/model/kernels/kernels.h"
#include "trainer/model/onednn_product.h"

namespace bp::trainer {
namespace {

using at::Tensor;

Fp32Products choose_fp32_products() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("amd") && kernels::is_supported(kernels::Isa::avx512) && has_onednn()) {
    return Fp32Products::onednn;
  }
#endif
  return Fp32Products::mkl;
}

}  // namespace

Fp32Products fp32_products() {
  static const Fp32Products kChosen = choose_fp32_products();
  return kChosen;
}

Tensor for_products(const Tensor& x, Bf16Products how) {
  if (!x.is_cpu()) return x;
  const at::ScalarType type = x.scalar_type();
  const bool widens = type == at::kHalf || (type == at::kBFloat16 && how == Bf16Products::widened);
  return widens ? x.to(at::kFloat) : x;
}

Tensor weight_for_products(const Tensor& master, at::ScalarType number, Bf16Products how) {
  return for_products(master.detach().to(number), how);
}

Tensor matrix_product(const Tensor& a, const Tensor& b, at::ScalarType to, Fp32Products how) {
  // A device's products need not be rounded on the way.
  if (!a.is_cpu() && to == at::kFloat && a.scalar_type() != to) return at::mm(a, b, to);
  const bool by_onednn = how == Fp32Products::onednn && a.is_cpu() &&
                         a.scalar_type() == at::kFloat && are_large_for_onednn(a, b);
  return (by_onednn ? product_by_onednn(a, b) : at::mm(a, b)).to(to);
}

Tensor matrix_products(const Tensor& a, const Tensor& b, at::ScalarType to) {
  return at::bmm(a, b).to(to);
}

}  // namespace bp::trainer
