// The element-wise half of the encoder: what lies between two matrix products, one pass over memory
// each. Plain loops (loops.cc), compiled for several instruction sets; kernels() picks the best
// that this processor has.
//
// Each function works on one row, so that callers cut the work among threads as they like. Which
// elements dropout drops is the same on every processor; sums may differ in their last bits.
// `Number` is float or BFloat16; all arithmetic is in fp32. Sums (`*_sum`) are added to.
#pragma once

#include <cstdint>

#include "bp/types.h"

namespace bp::trainer::kernels {

// The widest row: scratch of this many floats stands on the stack.
inline constexpr int kMaxRow = 4096;

// Which numbers a row's dropout draws: Philox4x32-10 keyed by (seed, step), counted by (site,
// sample, row, element). `row` is the token, with the head above it for attention probabilities.
struct DropoutRow {
  std::uint32_t key[2] = {0, 0};
  std::uint32_t row = 0;
  std::uint32_t sample = 0;
  std::uint32_t site = 0;
  std::uint16_t threshold = 0;  // an element is dropped when its 16 random bits are below it
  float scale = 1;              // what kept elements are multiplied by: 1 / (share kept)
};

template <class Number>
struct Kernels {
  // out[i] = word[i] + position[i] + type[i]
  void (*embed)(
      Number* out, const float* word, const float* position, const float* type, int width);

  // z = residual + dropout(x + bias); y = gamma * (z - mean) * rstd + beta. Without bias, residual
  // or dropout: null. `z` is kept for the backward pass.
  struct AddNorm {
    Number* z = nullptr;
    Number* y = nullptr;
    float* mean = nullptr;  // one number each
    float* rstd = nullptr;
    const Number* x = nullptr;
    const float* bias = nullptr;
    const Number* residual = nullptr;
    const float* gamma = nullptr;
    const float* beta = nullptr;
    const DropoutRow* dropout = nullptr;
    int width = 0;
    float epsilon = 0;
  };
  void (*add_norm)(const AddNorm& row);

  // dz = the norm's backward of dy, the residual's gradient; dx = dropout's backward of dz. Without
  // dropout dx may be dz.
  struct AddNormBackward {
    Number* dz = nullptr;
    Number* dx = nullptr;
    float* gamma_sum = nullptr;
    float* beta_sum = nullptr;
    float* bias_sum = nullptr;  // null: no bias
    const Number* dy = nullptr;
    const Number* z = nullptr;
    const float* gamma = nullptr;
    const DropoutRow* dropout = nullptr;
    int width = 0;
    float mean = 0;
    float rstd = 0;
  };
  void (*add_norm_backward)(const AddNormBackward& row);

  // y = gelu(x + bias), with erf as BERT has it.
  void (*gelu)(Number* y, const Number* x, const float* bias, int width);
  void (*gelu_backward)(
      Number* dx, float* bias_sum, const Number* dy, const Number* x, const float* bias, int width);

  // p = softmax(scale * scores) over the first `valid` columns, 0 behind; dropped = dropout(p).
  // `p` may be `scores`. Without dropout `dropped` is null.
  void (*softmax)(Number* p,
                  Number* dropped,
                  const Number* scores,
                  int valid,
                  int width,
                  float scale,
                  const DropoutRow* dropout);
  // The scores' gradient from that of `dropped`, which it may overwrite. Without dropout `dropped`
  // is `p`.
  void (*softmax_backward)(Number* d_scores,
                           const Number* p,
                           const Number* dropped,
                           const Number* d_dropped,
                           int valid,
                           int width,
                           float scale);

  void (*dropout)(Number* y, const Number* x, int width, const DropoutRow& dropout);

  // One token's row [parts, heads, size] to and from matrices of one head each: part p, head h lies
  // at heads[p] + h * stride[p]. Where heads[p] is null, split leaves the part out and merge
  // writes zeros. `bias` and `bias_sum` may be null.
  struct Heads {
    Number* heads[3] = {nullptr, nullptr, nullptr};
    std::int64_t stride[3] = {0, 0, 0};
    int parts = 1;
    int count = 0;
    int size = 0;
  };
  void (*split_heads)(const Heads& to, const Number* row, const float* bias);
  void (*merge_heads)(Number* row, float* bias_sum, const Heads& from);
};

// The instruction sets that the loops are compiled for: on x86-64 these three, elsewhere the first.
enum class Isa : std::uint8_t { baseline, avx2, avx512 };

// Whether this processor has it.
[[nodiscard]] bool is_supported(Isa isa);
// The last one that it has.
[[nodiscard]] Isa best_isa();

// The loops for `isa`, which must be supported.
template <class Number>
[[nodiscard]] const Kernels<Number>& kernels(Isa isa);
template <>
const Kernels<float>& kernels<float>(Isa isa);
template <>
const Kernels<BFloat16>& kernels<BFloat16>(Isa isa);

// Those for the best instruction set.
template <class Number>
[[nodiscard]] const Kernels<Number>& kernels() {
  return kernels<Number>(best_isa());
}

// 128 uniform 16-bit numbers, the `block`th of the row: what dropout compares with its threshold.
void random_block(std::uint16_t out[128], std::uint32_t block, const DropoutRow& row);

}  // namespace bp::trainer::kernels
