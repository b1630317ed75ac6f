// The numbers in which a training step computes.
#pragma once

#include <cstdint>

namespace bp::trainer {

enum class Precision : std::uint8_t { fp32, bf16 };

// Returns false if LibTorch multiplies in this precision number by number, which is many times
// slower than fp32: for bf16 on x86 without AVX-512.
[[nodiscard]] bool has_fast_products(Precision precision);

}  // namespace bp::trainer
