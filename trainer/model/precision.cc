#include "trainer/model/precision.h"

#include "trainer/model/kernels/kernels.h"

namespace bp::trainer {

bool has_fast_products(Precision precision) {
#if defined(__x86_64__)
  return precision != Precision::bf16 || kernels::best_isa() == kernels::Isa::avx512;
#else
  (void)precision;
  return true;
#endif
}

double default_loss_scale(Precision precision) { return precision == Precision::fp16 ? 65536 : 0; }

}  // namespace bp::trainer
