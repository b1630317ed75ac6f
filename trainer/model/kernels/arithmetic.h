// The arithmetic that the loops of one instruction set share. Included only by the files that are
// compiled once for each instruction set, which BP_ISA names. They must not call inline functions
// of the standard library: the linker keeps one copy of those, perhaps one that an older processor
// cannot run.
#pragma once

#include <cstdint>

#include "trainer/model/kernels/loops.h"

// Marks what loops call for each number: GCC vectorises no loop with a call, and by itself it stops
// inlining where a file has many loops.
#define BP_IN_LOOPS [[gnu::always_inline]] inline

namespace bp::trainer::kernels::BP_ISA {
namespace {

// Lanes of a random block; fixed, so that results do not depend on the vector width.
constexpr int kLanes = 16;
constexpr int kBlock = 128;

BP_IN_LOOPS float load(float x) { return x; }
BP_IN_LOOPS float load(BFloat16 x) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(x) << 16);
}
BP_IN_LOOPS void store(float& to, float x) { to = x; }
// Rounds to the nearest even; NaN stays NaN.
BP_IN_LOOPS void store(BFloat16& to, float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  to = static_cast<BFloat16>(static_cast<std::uint16_t>(x != x ? 0x7fc0U : rounded));
}

// GCC vectorises these two, but not its own conversions of _Float16. Each computes all cases and
// chooses between them.
BP_IN_LOOPS float load(Float16 x) {
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
BP_IN_LOOPS void store(Float16& to, float x) {
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
BP_IN_LOOPS float exponential(float x) {
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

// Replaces scores by softmax(scale * scores).
void probabilities(float* scores, int count, float scale) {
  float highest = -3.4e38F;
#pragma omp simd reduction(max : highest)
  for (int i = 0; i < count; ++i) {
    scores[i] *= scale;
    highest = scores[i] > highest ? scores[i] : highest;
  }
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < count; ++i) {
    scores[i] = exponential(scores[i] - highest);
    sum += scores[i];
  }
  const float inverse = 1.0F / sum;
  for (int i = 0; i < count; ++i) scores[i] *= inverse;
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

}  // namespace
}  // namespace bp::trainer::kernels::BP_ISA
