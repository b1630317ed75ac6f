#include <cstdint>

#include "trainer/model/kernels/loops.h"

namespace bp::trainer::kernels {

bool is_supported(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return true;
#if defined(__x86_64__)
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::avx512:
      return is_supported(Isa::avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
#endif
    default:
      return false;
  }
}

Isa best_isa() {
  static const Isa kBest = is_supported(Isa::avx512) ? Isa::avx512
                           : is_supported(Isa::avx2) ? Isa::avx2
                                                     : Isa::baseline;
  return kBest;
}

bool has_bf16_instructions() {
#if defined(__x86_64__)
  return is_supported(Isa::avx512) && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

template <>
const Kernels<float>& kernels<float>(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return avx512::f32();
  if (isa == Isa::avx2) return avx2::f32();
#endif
  return baseline::f32();
}

template <>
const Kernels<BFloat16>& kernels<BFloat16>(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return avx512::bf16();
  if (isa == Isa::avx2) return avx2::bf16();
#endif
  return baseline::bf16();
}

template <>
const Kernels<Float16>& kernels<Float16>(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return avx512::f16();
  if (isa == Isa::avx2) return avx2::f16();
#endif
  return baseline::f16();
}

void transpose(Isa isa, const Transposition& of) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return avx512::transpose(of);
  if (isa == Isa::avx2) return avx2::transpose(of);
#endif
  baseline::transpose(of);
}

void random_block(std::uint16_t out[128], std::uint32_t block, const DropoutRow& row) {
  baseline::random_block(out, block, row);
}

}  // namespace bp::trainer::kernels
