#include "trainer/model/passes/products.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "base/system/signals_blocked.h"
#include "trainer/model/kernels/kernels.h"
#include "trainer/model/passes/rows.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// LibTorch's call of oneDNN for inference: x w^T, perhaps with a bias and a function of each
// result. It has no other for fp32 in the memory layout of all its tensors.
using Numbers = c10::List<std::optional<at::Scalar>>;
using LinearPointwise = Tensor(const Tensor& x,
                               const Tensor& w,
                               const std::optional<Tensor>& bias,
                               std::string_view function,
                               Numbers numbers,
                               std::optional<std::string_view> algorithm);

std::optional<c10::TypedOperatorHandle<LinearPointwise>> find_linear_pointwise() {
  const auto found = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  if (!found) return std::nullopt;
  return found->typed<LinearPointwise>();
}

const std::optional<c10::TypedOperatorHandle<LinearPointwise>>& linear_pointwise() {
  static const auto kFound = find_linear_pointwise();
  return kFound;
}

// Returns all signals except those that an instruction causes, which cannot wait.
sigset_t signals_that_can_wait() {
  sigset_t set = all_signals();
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    ::sigdelset(&set, number);
  }
  return set;
}

// Returns `a` with its rows in memory one after the other, as oneDNN needs it. LibTorch's own copy
// of a transposed matrix takes several times as long.
Tensor in_rows(const Tensor& a) {
  const Tensor from = a.t();
  if (!from.is_contiguous()) return a.contiguous();
  Tensor to = at::empty(a.sizes(), a.options());
  const std::int64_t rows = from.size(0);
  const std::int64_t width = from.size(1);
  constexpr std::int64_t kRows = 16;  // fill a line of the result's memory
  for_rows((rows + kRows - 1) / kRows, kRows * width, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kRows;
    kernels::transpose(kernels::best_isa(), {.to = data<float>(to) + first,
                                             .to_row = rows,
                                             .from = data<float>(from) + first * width,
                                             .from_row = width,
                                             .rows = std::min(rows, end * kRows) - first,
                                             .columns = width});
  });
  return to;
}

// Returns whether LibTorch brings oneDNN along.
bool has_onednn() { return linear_pointwise().has_value(); }

// Returns whether oneDNN multiplies these matrices in less time than MKL, on processors where it is
// the faster one for large ones.
// Each call of oneDNN takes 10 us longer, and it copies the weights if there are few rows.
bool are_large_for_onednn(const Tensor& a, const Tensor& b) {
  constexpr std::int64_t kLeast = 64;
  constexpr std::int64_t kLeastMultiplications = 1 << 22;
  return a.size(0) >= kLeast && a.size(1) >= kLeast &&
         a.numel() * b.size(1) >= kLeastMultiplications;
}

// Returns a b, of matrices of fp32 in the host's memory. Signals wait until it is done.
// While oneDNN multiplies, its stack pointer may point into the heap, and the handler of a signal
// would overwrite what is there (issue 4845 of oneDNN). OpenMP's threads block signals for good,
// and are told each time, because OpenMP ends threads and makes new ones.
Tensor product_by_onednn(const Tensor& a, const Tensor& b) {
  BP_CHECK(has_onednn(), "LibTorch has oneDNN where it is chosen");
  static const sigset_t kSignals = signals_that_can_wait();
  const Tensor rows = in_rows(a);
  const SignalsBlocked blocked(kSignals);
#pragma omp parallel
  ::pthread_sigmask(SIG_BLOCK, &kSignals, nullptr);
  return linear_pointwise()->call(rows, b.t(), std::nullopt, "none", Numbers(), std::nullopt);
}

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
