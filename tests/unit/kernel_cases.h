// Tests of the kernels of each type and instruction set that this processor has.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/reduce/halves.h"
#include "trainer/model/kernels/kernels.h"

namespace bp::trainer::kernels {

inline float value(float x) { return x; }
inline float value(BFloat16 x) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(x) << 16);
}
inline float value(Float16 x) { return to_float(x); }
template <class Number>
Number number(double x);
template <>
inline float number(double x) {
  return static_cast<float>(x);
}
template <>
inline BFloat16 number(double x) {  // exact for the inputs used here
  return static_cast<BFloat16>(__builtin_bit_cast(std::uint32_t, static_cast<float>(x)) >> 16);
}

template <>
inline Float16 number(double x) {
  return to_float16(static_cast<float>(x));
}

// Numbers -4 .. 4 that bf16 holds exactly, different at each index.
template <class Number>
std::vector<Number> numbers(int count, int salt) {
  std::vector<Number> result;
  for (int i = 0; i < count; ++i) {
    result.push_back(number<Number>(((i * 37 + salt * 11) % 65 - 32) / 8.0));
  }
  return result;
}

template <class Element, Isa isa>
struct On {
  using Number = Element;
  static constexpr Isa kIsa = isa;
};

inline std::string name_of(Isa isa) {
  constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};
  return kNames[static_cast<int>(isa)];
}

struct CaseName {
  template <class Case>
  static std::string GetName(int /*index*/) {
    if (std::is_same_v<typename Case::Number, float>) return name_of(Case::kIsa) + "_f32";
    return name_of(Case::kIsa) +
           (std::is_same_v<typename Case::Number, BFloat16> ? "_bf16" : "_f16");
  }
};

template <class Case>
class Kernel : public ::testing::Test {
 protected:
  // All arithmetic is in f32, so a result of numbers up to `size` has a small f32 error. A bf16 is
  // then rounded once, to 8 significant bits, and an f16 to 11.
  static double tolerance(double wanted, double size = 1) {
    using Number = typename Case::Number;
    const double rounding = std::is_same_v<Number, float>      ? 0
                            : std::is_same_v<Number, BFloat16> ? 0x1p-8
                                                               : 0x1p-11;
    return 3e-6 * size + rounding * std::abs(wanted);
  }

  void SetUp() override {
    if (!is_supported(Case::kIsa)) GTEST_SKIP() << "this processor has no " << name_of(Case::kIsa);
  }
  static const auto& table() { return kernels<typename Case::Number>(Case::kIsa); }
};
using Cases = ::testing::Types<On<float, Isa::baseline>,
                               On<BFloat16, Isa::baseline>,
                               On<Float16, Isa::baseline>,
                               On<float, Isa::avx2>,
                               On<BFloat16, Isa::avx2>,
                               On<Float16, Isa::avx2>,
                               On<float, Isa::avx512>,
                               On<BFloat16, Isa::avx512>,
                               On<Float16, Isa::avx512>>;

}  // namespace bp::trainer::kernels
