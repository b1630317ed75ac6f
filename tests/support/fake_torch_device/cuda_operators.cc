// Operators that LibTorch has for CUDA alone.
#include <ATen/core/Tensor.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include "tests/support/fake_torch_device/key.h"

namespace fake_torch_device {
namespace {

// Products of fp16 or bf16 that are added in fp32 and not rounded to the operands' type.
void check_types(const at::Tensor& a, const at::Tensor& b, at::ScalarType to) {
  const at::ScalarType from = a.scalar_type();
  const bool is_half = from == at::kHalf || from == at::kBFloat16;
  TORCH_CHECK(b.scalar_type() == from && (to == from || (is_half && to == at::kFloat)),
              "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b, at::ScalarType to) {
  check_types(a, b, to);
  return at::mm(a.to(to), b.to(to));
}

at::Tensor products(const at::Tensor& a, const at::Tensor& b, at::ScalarType to) {
  check_types(a, b, to);
  return at::bmm(a.to(to), b.to(to));
}

TORCH_LIBRARY_IMPL(aten, FAKE_TORCH_KEY, library) {
  library.impl("mm.dtype", product);
  library.impl("bmm.dtype", products);
}

}  // namespace
}  // namespace fake_torch_device
