#include "trainer/model/onednn_product.h"

#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trainer/model/kernels/kernels.h"
#include "trainer/model/rows.h"

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

// Blocks signals in this thread, and for good in OpenMP's other threads. While oneDNN multiplies,
// its stack pointer may point into the heap, and the handler of a signal would overwrite what is
// there (issue 4845 of oneDNN). Signals that an instruction causes cannot wait.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
      ::sigdelset(&all, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    // Each time, because OpenMP ends threads and makes new ones.
#pragma omp parallel
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Returns `a` with its rows in memory one after the other, as oneDNN needs it. LibTorch's own copy
// of a transposed matrix takes several times as long.
Tensor in_rows(const Tensor& a) {
  const Tensor from = a.t();
  if (!from.is_contiguous()) return a.contiguous();
  Tensor to = at::empty(a.sizes(), a.options());
  const std::int64_t rows = from.size(0);
  const std::int64_t width = from.size(1);
  constexpr std::int64_t kRows =
      16;  // of a thread at least: they fill a line of the result's memory
  for_rows((rows + kRows - 1) / kRows, kRows * width, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kRows;
    kernels::transpose(kernels::best_isa(), data<float>(to) + first, rows,
                       data<float>(from) + first * width, width,
                       std::min(rows, end * kRows) - first, width);
  });
  return to;
}

}  // namespace

bool has_onednn() { return linear_pointwise().has_value(); }

// Each call of oneDNN takes 10 us longer, and it copies the weights if there are few rows.
bool are_large_for_onednn(const Tensor& a, const Tensor& b) {
  constexpr std::int64_t kLeast = 64;
  constexpr std::int64_t kLeastMultiplications = 1 << 22;
  return a.size(0) >= kLeast && a.size(1) >= kLeast &&
         a.numel() * b.size(1) >= kLeastMultiplications;
}

Tensor product_by_onednn(const Tensor& a, const Tensor& b) {
  const Tensor rows = in_rows(a);
  const SignalsBlocked blocked;
  return linear_pointwise()->call(rows, b.t(), std::nullopt, "none", Numbers(), std::nullopt);
}

}  // namespace bp::trainer
