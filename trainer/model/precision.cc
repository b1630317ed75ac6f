#include "trainer/model/precision.h"

#include "trainer/model/kernels/kernels.h"

namespace bp::trainer {

bool has_fast_products(Precision precision) {
#if defined(__x86_64__)
  return precision == Precision::fp32 || kernels::best_isa() == kernels::Isa::avx512;
#else
  (void)precision;
  return true;
#endif
}

}  // namespace bp::trainer
