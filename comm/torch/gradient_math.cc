#include "comm/torch/gradient_math.h"

#include <cstddef>
#include <cstring>

#include "comm/base/check.h"

namespace bp {
namespace {

// Element i is added to lane i mod 16, whatever the width of the machine's registers. The square of
// a float is exact in double precision, so a fused multiply-add gives the same bits too.
constexpr std::size_t kLanes = 16;
using Floats [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Doubles [[gnu::vector_size(kLanes * sizeof(double))]] = double;

double sum_of_lanes(const double* lanes) {
  double sum = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    sum += lanes[i];
  }
  return sum;
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
double
sum_of_squares(const float* x, std::size_t count) {
  Doubles lanes = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats narrow;
    std::memcpy(&narrow, x + i, sizeof narrow);
    const Doubles wide = __builtin_convertvector(narrow, Doubles);
    lanes += wide * wide;
  }
  for (; i < count; ++i) {
    lanes[i % kLanes] += double{x[i]} * double{x[i]};
  }
  double plain[kLanes];
  std::memcpy(plain, &lanes, sizeof plain);
  return sum_of_lanes(plain);
}

template <class T>
double sum_of_squares(const T* x, std::size_t count) {
  double lanes[kLanes] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const auto wide = static_cast<double>(x[i]);
    lanes[i % kLanes] += wide * wide;
  }
  return sum_of_lanes(lanes);
}

}  // namespace

double sum_of_squares(const at::Tensor& tensor) {
  BP_CHECK(tensor.is_non_overlapping_and_dense(), "a gradient with holes");
  const auto count = static_cast<std::size_t>(tensor.numel());
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return sum_of_squares(tensor.const_data_ptr<float>(), count);
    case at::kDouble:
      return sum_of_squares(tensor.const_data_ptr<double>(), count);
    case at::kHalf:
      return sum_of_squares(tensor.const_data_ptr<at::Half>(), count);
    case at::kBFloat16:
      return sum_of_squares(tensor.const_data_ptr<at::BFloat16>(), count);
    default:
      BP_CHECK(false, "a gradient that is not floating");
  }
}

}  // namespace bp
