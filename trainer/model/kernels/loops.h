// The tables and functions that each compilation of loops.cc, attention.cc and transpose.cc
// exports.
#pragma once

#include <cstdint>

#include "trainer/model/kernels/kernels.h"

#define BP_DECLARE_ATTENTION(Number)                                                          \
  void attend(const Kernels<Number>::HeadOfSample& head, const Kernels<Number>::Attended& to, \
              float* scratch);                                                                \
  void attend_backward(const Kernels<Number>::HeadOfSample& head,                             \
                       const Kernels<Number>::AttendedGradients& d, float* scratch);

#define BP_DECLARE_ISA(name)                                                         \
  namespace bp::trainer::kernels::name {                                             \
  BP_DECLARE_ATTENTION(float)                                                        \
  BP_DECLARE_ATTENTION(BFloat16)                                                     \
  BP_DECLARE_ATTENTION(Float16)                                                      \
  const Kernels<float>& f32();                                                       \
  const Kernels<BFloat16>& bf16();                                                   \
  const Kernels<Float16>& f16();                                                     \
  void random_block(std::uint16_t* out, std::uint32_t block, const DropoutRow& row); \
  void transpose(const Transposition& of);                                           \
  }

BP_DECLARE_ISA(baseline)
BP_DECLARE_ISA(avx2)
BP_DECLARE_ISA(avx512)

#undef BP_DECLARE_ISA
#undef BP_DECLARE_ATTENTION
