// The element-wise half of the encoder: the operations between two matrix products, each in one
// pass over memory, and attention inside short samples. They are plain loops (loops.cc) and
// products of small matrices (attention.cc), compiled for several instruction sets; kernels()
// chooses the best one that the processor supports.
//
// Each function processes one row, so that callers may divide the work among threads as they like.
// Dropout drops the same elements on every processor; sums may differ in their last bits. `Number`
// is float, BFloat16 or Float16; all arithmetic is in fp32. Functions add to sums (`*_sum`) and do
// not set them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bp/types.h"

namespace bp::trainer::kernels {

// The widest row. Functions have scratch arrays of this many floats on the stack.
inline constexpr int kMaxRow = 8192;

// The largest distances at which a query sees keys that stand before and after it.
struct Window {
  int before = kMaxRow;
  int after = kMaxRow;
  // Returns whether some pair among `tokens` tokens does not see each other.
  [[nodiscard]] bool hides(int tokens) const { return before < tokens || after < tokens; }
};

// Determines the numbers that a row's dropout draws: Philox4x32-10 keyed by (seed, step), with the
// counter (site, sample, row, element). `row` is the token, with the head in its upper 16 bits for
// attention probabilities.
struct DropoutRow {
  std::uint32_t key[2] = {0, 0};
  std::uint32_t row = 0;
  std::uint32_t sample = 0;
  std::uint32_t site = 0;
  std::uint16_t threshold = 0;  // an element is dropped if its 16 random bits are below this
  float scale = 1;              // factor of the kept elements: 1 / (share kept)
};

// Numbers that are added to the scaled scores of a head for the distances of queries and keys.
template <class Number>
struct Distances {
  // Number d of the query's row, for the key d tokens behind it. Null: nothing is added.
  Number* of_query = nullptr;
  // Number d of the key's row, for the query d tokens behind it. Null: nothing is added.
  Number* of_key = nullptr;
  std::int64_t row = 0;  // how far rows of tokens are apart; 0: all have one
};

template <class Number>
struct Kernels {
  // out[i] = word[i] + position[i] + type[i]
  void (*embed)(
      Number* out, const float* word, const float* position, const float* type, int width);

  // z = residual + dropout(x + bias); y = gamma * (z - mean) * rstd + beta. bias, residual and
  // dropout may be null. `z` is kept for the backward pass.
  struct AddNorm {
    Number* z = nullptr;
    Number* y = nullptr;
    float* mean = nullptr;  // one number; rstd also
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

  // dz is the gradient of z and so of the residual, by the norm's backward of dy; dx is dropout's
  // backward of dz. Without dropout, dx may be dz.
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

  // y = gelu(x + bias), with erf, as in BERT.
  void (*gelu)(Number* y, const Number* x, const float* bias, int width);
  void (*gelu_backward)(
      Number* dx, float* bias_sum, const Number* dy, const Number* x, const float* bias, int width);

  // y[i] = gelu(x[i]) * x[width + i]
  void (*gated_gelu)(Number* y, const Number* x, int width);
  void (*gated_gelu_backward)(Number* dx, const Number* dy, const Number* x, int width);

  // Rotates the numbers of `heads` heads, as rotary positions do: number i of a head's first half
  // and number i of its second half, by the angle with cosines[i] and sign * sines[i].
  struct Rotate {
    Number* to = nullptr;
    const Number* from = nullptr;
    const float* cosines = nullptr;  // [size / 2]
    const float* sines = nullptr;
    float sign = 1;
    int heads = 0;
    int size = 0;
  };
  void (*rotate)(const Rotate& row);

  // p = softmax(scale * scores) over the first `valid` columns, 0 in the others; dropped =
  // dropout(p). `p` may be `scores`. Without dropout, `dropped` is null.
  void (*softmax)(Number* p,
                  Number* dropped,
                  const Number* scores,
                  int valid,
                  int width,
                  float scale,
                  const DropoutRow* dropout);
  // Computes the scores' gradient from that of `dropped`, which it may overwrite. Without dropout,
  // `dropped` is `p`.
  void (*softmax_backward)(Number* d_scores,
                           const Number* p,
                           const Number* dropped,
                           const Number* d_dropped,
                           int valid,
                           int width,
                           float scale);

  void (*dropout)(Number* y, const Number* x, int width, const DropoutRow& dropout);

  // Copy one token's row [parts, heads, size] to and from matrices of one head each: part p, head h
  // is at heads[p] + h * stride[p]. If heads[p] is null, split_heads skips the part and merge_heads
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

  // One head of one sample. Row t of q, k and v is token t's, at q + t * stride; biases are added
  // to them.
  struct HeadOfSample {
    const Number* q = nullptr;
    const Number* k = nullptr;
    const Number* v = nullptr;
    std::int64_t stride = 0;
    const float* q_bias = nullptr;
    const float* k_bias = nullptr;
    const float* v_bias = nullptr;
    int tokens = 0;
    int queries = 0;  // the first tokens, or all
    int size = 0;     // of the head
    float scale = 1;
    Window window = {};
    Distances<const float> relative = {};
  };
  struct Attended {
    Number* y = nullptr;  // row t at y + t * y_stride
    std::int64_t y_stride = 0;
    // [queries, tokens], the softmax, kept for the backward pass, which reads no keys that are out
    // of reach of all queries computed together.
    Number* p = nullptr;
    Number* dropped = nullptr;            // the same after dropout; null without
    const DropoutRow* dropout = nullptr;  // of the first query
  };
  // y = dropout(softmax(scale * q k^T + relative)) v. `scratch`: of attention_scratch() floats.
  void (*attend)(const HeadOfSample& head, const Attended& to, float* scratch);

  struct AttendedGradients {
    const Number* dy = nullptr;
    std::int64_t y_stride = 0;
    const Number* p = nullptr;
    const Number* dropped = nullptr;  // without dropout, `p`
    Number* dq = nullptr;             // lie as q, k and v do
    Number* dk = nullptr;
    Number* dv = nullptr;
    Distances<float> relative_sum = {};  // as `relative`
  };
  // Sets dq, dk and dv, and adds to `relative_sum`. dq is 0 for tokens that are not queries.
  void (*attend_backward)(const HeadOfSample& head, const AttendedGradients& d, float* scratch);

  // Adds rows of `width` numbers to `sum`.
  void (*add_rows)(float* sum, const Number* rows, int width, std::int64_t count);

  // gelu() with its approximation by tanh (Hendrycks and Gimpel 2016).
  void (*gelu_tanh)(Number* y, const Number* x, const float* bias, int width);
  void (*gelu_tanh_backward)(
      Number* dx, float* bias_sum, const Number* dy, const Number* x, const float* bias, int width);
};

// attend() rounds the tokens and the size of a head up to a multiple of this in its scratch memory.
inline constexpr int kAttentionLanes = 16;
// The queries whose scores are in the scratch memory together.
inline constexpr int kAttentionQueries = 32;

// Returns the floats of scratch memory that attention of a head needs.
[[nodiscard]] constexpr std::size_t attention_scratch(int tokens, int size) {
  const auto up = [](int n) {
    return (static_cast<std::size_t>(n) + kAttentionLanes - 1) / kAttentionLanes * kAttentionLanes;
  };
  return 4 * up(tokens) * up(size) + kAttentionQueries * (3 * up(size) + 2 * up(tokens));
}

// The instruction sets for which the loops are compiled: all three on x86-64, only the first
// elsewhere.
enum class Isa : std::uint8_t { baseline, avx2, avx512 };

// Returns whether this processor supports it.
[[nodiscard]] bool is_supported(Isa isa);
// Returns the last one that this processor supports.
[[nodiscard]] Isa best_isa();

// Returns whether this processor has AVX512-BF16.
[[nodiscard]] bool has_bf16_instructions();

// Returns the loops for `isa`, which this processor must support.
template <class Number>
[[nodiscard]] const Kernels<Number>& kernels(Isa isa);
template <>
const Kernels<float>& kernels<float>(Isa isa);
template <>
const Kernels<BFloat16>& kernels<BFloat16>(Isa isa);
template <>
const Kernels<Float16>& kernels<Float16>(Isa isa);

// Returns the loops for the best instruction set.
template <class Number>
[[nodiscard]] const Kernels<Number>& kernels() {
  return kernels<Number>(best_isa());
}

// to[j * to_row + i] = from[i * from_row + j] for i < rows and j < columns.
struct Transposition {
  float* to = nullptr;
  std::int64_t to_row = 0;
  const float* from = nullptr;
  std::int64_t from_row = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
void transpose(Isa isa, const Transposition& of);

// Returns 128 uniform 16-bit numbers, the `block`th of the row, which dropout compares with its
// threshold.
void random_block(std::uint16_t out[128], std::uint32_t block, const DropoutRow& row);

}  // namespace bp::trainer::kernels
