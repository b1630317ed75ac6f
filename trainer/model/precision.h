// The numbers in which a training step computes.
#pragma once

#include <cstdint>

namespace bp::trainer {

enum class Precision : std::uint8_t { fp32, fp16, bf16 };

// Returns false if LibTorch multiplies in this precision number by number, which is many times
// slower than fp32: for bf16 on x86 without AVX-512. Products of fp16 are computed in fp32.
[[nodiscard]] bool has_fast_products(Precision precision);

// Returns the factor on the loss with which training begins, so that no gradient is too small for
// the precision; 0: none.
[[nodiscard]] double default_loss_scale(Precision precision);

}  // namespace bp::trainer
