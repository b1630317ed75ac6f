// The loops of kernels.h, apart from attention. This file is compiled once for each instruction set
// (arithmetic.h), and relies on the compiler's vectoriser.
#include "trainer/model/kernels/loops.h"

#include <cstdint>

#include "trainer/model/kernels/arithmetic.h"

namespace bp::trainer::kernels::BP_ISA {
namespace {

// The standard normal distribution at x: `below` is its integral up to x, `density` its density. By
// formula 7.1.26 of Abramowitz and Stegun, with an absolute error below 1e-7.
struct Normal {
  float below;
  float density;
};
BP_IN_LOOPS Normal normal(float x) {
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

// The same by the approximation (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.
BP_IN_LOOPS Normal normal_by_tanh(float x) {
  const float square = 0.044715F * x * x;
  const float z = 1.59576912F * x * (1.0F + square);
  const float e = exponential(-__builtin_fabsf(z));
  const float above = 1.0F / (1.0F + e);  // at |z|
  const float slope = 1.59576912F * (1.0F + 3.0F * square);
  return {.below = z < 0 ? e * above : above, .density = e * above * above * slope};
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

template <class Number, Normal (*distribution)(float) = normal>
void gelu(Number* __restrict y,
          const Number* __restrict x,
          const float* __restrict bias,
          int width) {
  for (int i = 0; i < width; ++i) {
    const float u = load(x[i]) + bias[i];
    store(y[i], u * distribution(u).below);
  }
}

template <class Number, Normal (*distribution)(float) = normal>
void gelu_backward(Number* __restrict dx,
                   float* __restrict bias_sum,
                   const Number* __restrict dy,
                   const Number* __restrict x,
                   const float* __restrict bias,
                   int width) {
  for (int i = 0; i < width; ++i) {
    const float u = load(x[i]) + bias[i];
    const Normal at = distribution(u);
    const float d = load(dy[i]) * (at.below + u * at.density);
    bias_sum[i] += d;
    store(dx[i], d);
  }
}

template <class Number>
void gated_gelu(Number* __restrict y, const Number* __restrict x, int width) {
  for (int i = 0; i < width; ++i) {
    const float u = load(x[i]);
    store(y[i], u * normal(u).below * load(x[width + i]));
  }
}

template <class Number>
void gated_gelu_backward(Number* __restrict dx,
                         const Number* __restrict dy,
                         const Number* __restrict x,
                         int width) {
  for (int i = 0; i < width; ++i) {
    const float u = load(x[i]);
    const float d = load(dy[i]);
    const Normal at = normal(u);
    store(dx[i], d * load(x[width + i]) * (at.below + u * at.density));
    store(dx[width + i], d * u * at.below);
  }
}

template <class Number>
void rotate(const typename Kernels<Number>::Rotate& row) {
  const int half = row.size / 2;
  const float sign = row.sign;
  const float* __restrict cosines = row.cosines;
  const float* __restrict sines = row.sines;
  for (int head = 0; head < row.heads; ++head) {
    const Number* __restrict from = row.from + head * row.size;
    Number* __restrict to = row.to + head * row.size;
    for (int i = 0; i < half; ++i) {
      const float a = load(from[i]);
      const float b = load(from[half + i]);
      store(to[i], a * cosines[i] - b * sign * sines[i]);
      store(to[half + i], b * cosines[i] + a * sign * sines[i]);
    }
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
  for (int i = 0; i < valid; ++i) e[i] = load(scores[i]);
  probabilities(e, valid, scale);
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
void add_rows(float* __restrict sum, const Number* __restrict rows, int width, std::int64_t count) {
  for (std::int64_t row = 0; row < count; ++row, rows += width) {
    for (int i = 0; i < width; ++i) sum[i] += load(rows[i]);
  }
}

template <class Number>
constexpr Kernels<Number> kTable = {embed<Number>,
                                    add_norm<Number>,
                                    add_norm_backward<Number>,
                                    gelu<Number>,
                                    gelu_backward<Number>,
                                    gated_gelu<Number>,
                                    gated_gelu_backward<Number>,
                                    rotate<Number>,
                                    softmax<Number>,
                                    softmax_backward<Number>,
                                    dropout<Number>,
                                    split_heads<Number>,
                                    merge_heads<Number>,
                                    attend,
                                    attend_backward,
                                    add_rows<Number>,
                                    gelu<Number, normal_by_tanh>,
                                    gelu_backward<Number, normal_by_tanh>};

}  // namespace

const Kernels<float>& f32() { return kTable<float>; }
const Kernels<BFloat16>& bf16() { return kTable<BFloat16>; }
const Kernels<Float16>& f16() { return kTable<Float16>; }
void random_block(std::uint16_t* out, std::uint32_t block, const DropoutRow& row) {
  philox(out, block, row);
}

}  // namespace bp::trainer::kernels::BP_ISA
