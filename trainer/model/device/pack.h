// Neighbouring numbers, which a thread reads and writes together.
#pragma once

#include <cmath>
#include <cstdint>

#include "comm/device/kernels/element.h"
#include "trainer/model/device/team.h"

namespace bp::trainer::device {

// The memory of a kernel's range (model_operations.h).
template <class T>
[[nodiscard]] BP_ON_DEVICE const T* input(void* const* at, int range) {
  return static_cast<const T*>(at[range]);
}
template <class T>
[[nodiscard]] BP_ON_DEVICE T* output(void* const* at, int range) {
  return static_cast<T*>(at[range]);
}

// Conversions are much of what a kernel does, so devices use their own instructions. A NaN stays
// one, of any bits.
template <class T>
[[nodiscard]] BP_ON_DEVICE float load(T x) {
  return bp::kernels::Wide<T>::of(x);
}
template <class T>
BP_ON_DEVICE void store(T& to, float x) {
  to = bp::kernels::Wide<T>::back(x);
}
#ifdef __CUDA_ARCH__
template <>
__device__ inline float load(BFloat16 x) {
  return __uint_as_float(static_cast<std::uint32_t>(x) << 16U);
}
template <>
__device__ inline float load(Float16 x) {
  float result = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(static_cast<std::uint16_t>(x)));
  return result;
}
template <>
__device__ inline void store(Float16& to, float x) {
  std::uint16_t bits = 0;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  to = Float16{bits};
}
#if __CUDA_ARCH__ >= 800
template <>
__device__ inline void store(BFloat16& to, float x) {
  std::uint16_t bits = 0;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  to = BFloat16{bits};
}
#endif
#endif

// Returns e^x, and 1 / x. A half does not show what the device's short instructions lack in
// accuracy.
template <class T>
[[nodiscard]] BP_ON_DEVICE float exponential(float x) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) < sizeof(float)) return __expf(x);
#endif
  return expf(x);
}
template <class T>
[[nodiscard]] BP_ON_DEVICE float inverse(float x) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) < sizeof(float)) return __fdividef(1.0F, x);
#endif
  return 1.0F / x;
}

template <class T, int count>
struct alignas(sizeof(T) * count) Pack {
  T v[count];
};

// As many as an instruction moves.
template <class T>
inline constexpr int kWord = 16 / sizeof(T);

// kPack numbers in fp32.
struct Numbers {
  float v[kPack];
};

// Reads the `count` numbers of a pack, and 0 for the others. `aligned`: `from` is a multiple of 16
// bytes, and the pack has kPack numbers.
template <class T>
[[nodiscard]] BP_ON_DEVICE Numbers load_pack(const T* from, int count, bool aligned) {
  Numbers result;
  if (aligned) {
    for (int w = 0; w < kPack; w += kWord<T>) {
      const auto word = *reinterpret_cast<const Pack<T, kWord<T>>*>(from + w);
      for (int k = 0; k < kWord<T>; ++k) result.v[w + k] = load(word.v[k]);
    }
  } else {
    for (int k = 0; k < kPack; ++k) result.v[k] = k < count ? load(from[k]) : 0.0F;
  }
  return result;
}
template <class T>
BP_ON_DEVICE void store_pack(T* to, const Numbers& numbers, int count, bool aligned) {
  if (aligned) {
    for (int w = 0; w < kPack; w += kWord<T>) {
      Pack<T, kWord<T>> word;
      for (int k = 0; k < kWord<T>; ++k) store(word.v[k], numbers.v[w + k]);
      *reinterpret_cast<Pack<T, kWord<T>>*>(to + w) = word;
    }
  } else {
    for (int k = 0; k < count; ++k) store(to[k], numbers.v[k]);
  }
}

}  // namespace bp::trainer::device
