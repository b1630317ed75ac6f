#include "trainer/model/passes/precision.h"

#include "trainer/model/kernels/kernels.h"

namespace bp::trainer {

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::fp16:
      return "fp16";
    case Precision::bf16:
      return "bf16";
    case Precision::automatic:
      return "auto";
  }
  return "";
}

Bf16Products bf16_products() {
#if defined(__x86_64__)
  return kernels::best_isa() == kernels::Isa::avx512 ? Bf16Products::native : Bf16Products::widened;
#else
  return Bf16Products::native;
#endif
}

std::string_view description_of(Bf16Products products) {
  return products == Bf16Products::native ? "LibTorch multiplies bf16"
                                          : "LibTorch multiplies the numbers of bf16 in fp32, "
                                            "since the processor has no AVX-512";
}

bool has_bf16_instructions() { return kernels::has_bf16_instructions(); }

Precision fastest_precision(bool all_have_bf16_instructions) {
  return all_have_bf16_instructions ? Precision::bf16 : Precision::fp32;
}

double default_loss_scale(Precision precision) { return precision == Precision::fp16 ? 65536 : 0; }

}  // namespace bp::trainer
