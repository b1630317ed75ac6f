// The loops of kernels.h. This file is compiled once for each instruction set, which BP_ISA names,
// and relies on the compiler's vectoriser. It must not call inline functions of the standard
// library: the linker keeps one copy of those, perhaps one that an older processor cannot run.
#include "trainer/model/kernels/loops.h"

#include <cstdint>

namespace bp::trainer::kernels::BP_ISA {
namespace {

// Lanes of a random block; fixed, so that results do not depend on the vector width.
constexpr int kLanes = 16;
constexpr int kBlock = 128;

float load(float x) { return x; }
float load(BFloat16 x) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(x) << 16); }
void store(float& to, float x) { to = x; }
// Rounds to the nearest even; NaN stays NaN.
void store(BFloat16& to, float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  to = static_cast<BFloat16>(static_cast<std::uint16_t>(x != x ? 0x7fc0U : rounded));
}

// GCC vectorises these two, but not its own conversions of _Float16. Each computes all cases and
// chooses between them.
float load(Float16 x) {
  constexpr std::uint32_t kLeastNormal = 113U << 23;  // 2^-14, as a float
  const std::uint32_t bits = static_cast<std::uint16_t>(x);
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t rest = (bits & 0x7fffU) << 13;
  // Below 2^-14 the spacing is that of floats from 2^-14 on, and the difference is exact.
  const float small =
      __builtin_bit_cast(float, kLeastNormal + rest) - __builtin_bit_cast(float, kLeastNormal);
  const std::uint32_t normal = rest + (112U << 23);
  const std::uint32_t large = rest | 0x7f800000U;  // infinity or NaN
  std::uint32_t result = rest < 0x00800000U ? __builtin_bit_cast(std::uint32_t, small) : normal;
  result = rest >= 0x0f800000U ? large : result;
  return __builtin_bit_cast(float, result | sign);
}
// Rounds to the nearest even; what is too large becomes infinity, NaN stays NaN.
void store(Float16& to, float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t rest = bits & 0x7fffffffU;
  // Above 0.5 the spacing of floats is that of subnormals, so this addition rounds to them.
  const float shifted = __builtin_bit_cast(float, rest) + 0.5F;
  const std::uint32_t small = __builtin_bit_cast(std::uint32_t, shifted) - 0x3f000000U;
  const std::uint32_t normal = (rest - (112U << 23) + 0x0fffU + ((rest >> 13) & 1U)) >> 13;
  std::uint32_t result = rest < 0x38800000U ? small : normal;
  result = rest >= 0x47800000U ? 0x7c00U : result;  // from 2^16 on
  result = rest > 0x7f800000U ? 0x7e00U : result;
  to = static_cast<Float16>(static_cast<std::uint16_t>(result | sign));
}

// Returns e^x for x <= 0, with a relative error below 2e-7; e^-87 for all x below -87.
float exponential(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer
  const float clamped = x < -87.0F ? -87.0F : x;  // in this order, NaN stays NaN
  const float n = (clamped * 1.44269504F + kRound) - kRound;
  const float r = (clamped - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const auto power = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
  return p * __builtin_bit_cast(float, power);
}

// The standard normal distribution at x: `below` is its integral up to x, `density` its density. By
// formula 7.1.26 of Abramowitz and Stegun, with an absolute error below 1e-7.
struct Normal {
  float below;
  float density;
};
Normal normal(float x) {
  const float z = __builtin_fabsf(x);
  const float t = 1.0F / (1.0F + 0.3275911F * 0.70710678F * z);
  float p = 1.061405429F;
  p = p * t - 1.453152027F;
  p = p * t + 1.421413741F;
  p = p * t - 0.284496736F;
  p = p * t + 0.254829592F;
  const float e = exponential(-0.5F * x * x);
  const float tail = 0.5F * p * t * e;
  return {x < 0 ? tail : 1.0F - tail, 0.39894228F * e};
}

void philox(std::uint16_t* __restrict out, std::uint32_t block, const DropoutRow& row) {
  std::uint32_t c0[kLanes];
  std::uint32_t c1[kLanes];
  std::uint32_t c2[kLanes];
  std::uint32_t c3[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    c0[l] = block * kLanes + static_cast<std::uint32_t>(l);
    c1[l] = row.row;
    c2[l] = row.sample;
    c3[l] = row.site;
  }
  std::uint32_t k0 = row.key[0];
  std::uint32_t k1 = row.key[1];
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) {
      const std::uint64_t a = std::uint64_t{0xD2511F53U} * c0[l];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * c2[l];
      c0[l] = static_cast<std::uint32_t>(b >> 32) ^ c1[l] ^ k0;
      c1[l] = static_cast<std::uint32_t>(b);
      c2[l] = static_cast<std::uint32_t>(a >> 32) ^ c3[l] ^ k1;
      c3[l] = static_cast<std::uint32_t>(a);
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
#pragma omp simd
  for (int l = 0; l < kLanes; ++l) {
    out[l] = static_cast<std::uint16_t>(c0[l]);
    out[l + 16] = static_cast<std::uint16_t>(c0[l] >> 16);
    out[l + 32] = static_cast<std::uint16_t>(c1[l]);
    out[l + 48] = static_cast<std::uint16_t>(c1[l] >> 16);
    out[l + 64] = static_cast<std::uint16_t>(c2[l]);
    out[l + 80] = static_cast<std::uint16_t>(c2[l] >> 16);
    out[l + 96] = static_cast<std::uint16_t>(c3[l]);
    out[l + 112] = static_cast<std::uint16_t>(c3[l] >> 16);
  }
}

// Sets factor[i] to 0 if element i is dropped, else to the scale. Writes `width` numbers rounded up
// to a block.
void dropout_factors(float* __restrict factor, int width, const DropoutRow& row) {
  const float scale = row.scale;
  const std::uint16_t threshold = row.threshold;
  std::uint16_t random[kBlock];
  for (int begin = 0; begin < width; begin += kBlock) {
    philox(random, static_cast<std::uint32_t>(begin / kBlock), row);
#pragma omp simd
    for (int i = 0; i < kBlock; ++i) factor[begin + i] = random[i] < threshold ? 0.0F : scale;
  }
}

template <class Number>
void embed(Number* __restrict out,
           const float* __restrict word,
           const float* __restrict position,
           const float* __restrict type,
           int width) {
  for (int i = 0; i < width; ++i) store(out[i], word[i] + position[i] + type[i]);
}

template <class Number>
void add_norm(const typename Kernels<Number>::AddNorm& row) {
  const int width = row.width;
  float z[kMaxRow];
  for (int i = 0; i < width; ++i) z[i] = load(row.x[i]);
  if (row.bias != nullptr) {
    for (int i = 0; i < width; ++i) z[i] += row.bias[i];
  }
  if (row.dropout != nullptr) {
    float factor[kMaxRow];
    dropout_factors(factor, width, *row.dropout);
    for (int i = 0; i < width; ++i) z[i] *= factor[i];
  }
  if (row.residual != nullptr) {
    for (int i = 0; i < width; ++i) z[i] += load(row.residual[i]);
  }
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < width; ++i) sum += z[i];
  const float mean = sum / static_cast<float>(width);
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int i = 0; i < width; ++i) squares += (z[i] - mean) * (z[i] - mean);
  const float rstd = 1.0F / __builtin_sqrtf(squares / static_cast<float>(width) + row.epsilon);
  Number* __restrict kept = row.z;
  Number* __restrict y = row.y;
  const float* __restrict gamma = row.gamma;
  const float* __restrict beta = row.beta;
  for (int i = 0; i < width; ++i) {
    store(kept[i], z[i]);
    store(y[i], (z[i] - mean) * rstd * gamma[i] + beta[i]);
  }
  *row.mean = mean;
  *row.rstd = rstd;
}

template <class Number>
void add_norm_backward(const typename Kernels<Number>::AddNormBackward& row) {
  const int width = row.width;
  float normed[kMaxRow];
  float scaled[kMaxRow];
  float sum = 0;
  float dot = 0;
  float* __restrict gamma_sum = row.gamma_sum;
  float* __restrict beta_sum = row.beta_sum;
  const float* __restrict gamma = row.gamma;
#pragma omp simd reduction(+ : sum, dot)
  for (int i = 0; i < width; ++i) {
    const float dy = load(row.dy[i]);
    normed[i] = (load(row.z[i]) - row.mean) * row.rstd;
    gamma_sum[i] += dy * normed[i];
    beta_sum[i] += dy;
    scaled[i] = dy * gamma[i];
    sum += scaled[i];
    dot += scaled[i] * normed[i];
  }
  const float mean = sum / static_cast<float>(width);
  const float slope = dot / static_cast<float>(width);
  for (int i = 0; i < width; ++i) scaled[i] = row.rstd * (scaled[i] - mean - normed[i] * slope);
  for (int i = 0; i < width; ++i) store(row.dz[i], scaled[i]);
  if (row.dropout != nullptr) {
    dropout_factors(normed, width, *row.dropout);
    for (int i = 0; i < width; ++i) scaled[i] *= normed[i];
    for (int i = 0; i < width; ++i) store(row.dx[i], scaled[i]);
  }
  if (row.bias_sum != nullptr) {
    for (int i = 0; i < width; ++i) row.bias_sum[i] += scaled[i];
  }
}

template <class Number>
void gelu(Number* __restrict y,
          const Number* __restrict x,
          const float* __restrict bias,
          int width) {
  for (int i = 0; i < width; ++i) {
    const float u = load(x[i]) + bias[i];
    store(y[i], u * normal(u).below);
  }
}

template <class Number>
void gelu_backward(Number* __restrict dx,
                   float* __restrict bias_sum,
                   const Number* __restrict dy,
                   const Number* __restrict x,
                   const float* __restrict bias,
                   int width) {
  for (int i = 0; i < width; ++i) {
    const float u = load(x[i]) + bias[i];
    const Normal at = normal(u);
    const float d = load(dy[i]) * (at.below + u * at.density);
    bias_sum[i] += d;
    store(dx[i], d);
  }
}

template <class Number>
void softmax(Number* p,
             Number* dropped,
             const Number* scores,
             int valid,
             int width,
             float scale,
             const DropoutRow* dropout) {
  float e[kMaxRow];
  float highest = -3.4e38F;
#pragma omp simd reduction(max : highest)
  for (int i = 0; i < valid; ++i) {
    e[i] = load(scores[i]) * scale;
    highest = e[i] > highest ? e[i] : highest;
  }
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < valid; ++i) {
    e[i] = exponential(e[i] - highest);
    sum += e[i];
  }
  const float inverse = 1.0F / sum;
  for (int i = 0; i < valid; ++i) e[i] *= inverse;
  for (int i = valid; i < width; ++i) e[i] = 0;
  for (int i = 0; i < width; ++i) store(p[i], e[i]);
  if (dropout != nullptr) {
    float factor[kMaxRow];
    dropout_factors(factor, valid, *dropout);
    for (int i = valid; i < width; ++i) factor[i] = 0;
    for (int i = 0; i < width; ++i) store(dropped[i], e[i] * factor[i]);
  }
}

template <class Number>
void softmax_backward(Number* d_scores,
                      const Number* p,
                      const Number* dropped,
                      const Number* d_dropped,
                      int valid,
                      int width,
                      float scale) {
  // d_p = d_dropped * factor, and p * factor = dropped, so the factors themselves are not needed.
  float product[kMaxRow];
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < valid; ++i) {
    product[i] = load(dropped[i]) * load(d_dropped[i]);
    sum += product[i];
  }
  for (int i = 0; i < valid; ++i) store(d_scores[i], scale * (product[i] - load(p[i]) * sum));
  for (int i = valid; i < width; ++i) store(d_scores[i], 0.0F);
}

template <class Number>
void dropout(Number* y, const Number* x, int width, const DropoutRow& row) {
  float factor[kMaxRow];
  dropout_factors(factor, width, row);
  for (int i = 0; i < width; ++i) store(y[i], load(x[i]) * factor[i]);
}

template <class Number>
void split_heads(const typename Kernels<Number>::Heads& to, const Number* row, const float* bias) {
  const int size = to.size;
  for (int part = 0; part < to.parts; ++part) {
    if (to.heads[part] == nullptr) continue;
    for (int head = 0; head < to.count; ++head) {
      const int begin = (part * to.count + head) * size;
      Number* __restrict out = to.heads[part] + head * to.stride[part];
      const Number* __restrict in = row + begin;
      if (bias == nullptr) {
        for (int i = 0; i < size; ++i) out[i] = in[i];
      } else {
        const float* __restrict add = bias + begin;
        for (int i = 0; i < size; ++i) store(out[i], load(in[i]) + add[i]);
      }
    }
  }
}

template <class Number>
void merge_heads(Number* row, float* bias_sum, const typename Kernels<Number>::Heads& from) {
  const int size = from.size;
  for (int part = 0; part < from.parts; ++part) {
    for (int head = 0; head < from.count; ++head) {
      const int begin = (part * from.count + head) * size;
      Number* __restrict out = row + begin;
      if (from.heads[part] == nullptr) {
        for (int i = 0; i < size; ++i) store(out[i], 0.0F);
        continue;
      }
      const Number* __restrict in = from.heads[part] + head * from.stride[part];
      for (int i = 0; i < size; ++i) out[i] = in[i];
      if (bias_sum != nullptr) {
        float* __restrict sum = bias_sum + begin;
        for (int i = 0; i < size; ++i) sum[i] += load(in[i]);
      }
    }
  }
}

template <class Number>
constexpr Kernels<Number> kTable = {
    embed<Number>,         add_norm<Number>,   add_norm_backward<Number>, gelu<Number>,
    gelu_backward<Number>, softmax<Number>,    softmax_backward<Number>,  dropout<Number>,
    split_heads<Number>,   merge_heads<Number>};

}  // namespace

const Kernels<float>& f32() { return kTable<float>; }
const Kernels<BFloat16>& bf16() { return kTable<BFloat16>; }
const Kernels<Float16>& f16() { return kTable<Float16>; }
void random_block(std::uint16_t* out, std::uint32_t block, const DropoutRow& row) {
  philox(out, block, row);
}

}  // namespace bp::trainer::kernels::BP_ISA
