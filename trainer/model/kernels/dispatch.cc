#include "trainer/model/kernels/loops.h"

namespace bp::trainer::kernels {
namespace {

enum class Isa : std::uint8_t { baseline, avx2, avx512 };

Isa best() {
#if defined(__x86_64__)
  static const Isa kBest = [] {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return avx2 && avx512 ? Isa::avx512 : avx2 ? Isa::avx2 : Isa::baseline;
  }();
  return kBest;
#else
  return Isa::baseline;
#endif
}

}  // namespace

template <>
const Kernels<float>& kernels<float>() {
#if defined(__x86_64__)
  if (best() == Isa::avx512) return avx512::f32();
  if (best() == Isa::avx2) return avx2::f32();
#endif
  return baseline::f32();
}

template <>
const Kernels<BFloat16>& kernels<BFloat16>() {
#if defined(__x86_64__)
  if (best() == Isa::avx512) return avx512::bf16();
  if (best() == Isa::avx2) return avx2::bf16();
#endif
  return baseline::bf16();
}

const char* instruction_set() {
  constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};
  return kNames[static_cast<int>(best())];
}

void random_block(std::uint16_t out[128], std::uint32_t block, const DropoutRow& row) {
  baseline::random_block(out, block, row);
}

}  // namespace bp::trainer::kernels
