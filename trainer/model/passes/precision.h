// The numbers in which a training step computes.
#pragma once

#include <cstdint>
#include <string_view>

namespace bp::trainer {

enum class Precision : std::uint8_t {
  fp32,
  fp16,
  bf16,
  automatic,  // a run replaces it by fastest_precision() before it makes a model
};

// Returns what --precision calls it: "fp32", "fp16", "bf16" or "auto".
[[nodiscard]] std::string_view name_of(Precision precision);

// How this process multiplies matrices of bf16 (products.h).
enum class Bf16Products : std::uint8_t {
  native,   // LibTorch multiplies bf16
  widened,  // LibTorch multiplies the same numbers in fp32
};

// Returns the choice for this processor, which is the same during the whole process: `widened` on
// x86 without AVX-512, for which LibTorch has no fast product of bf16.
[[nodiscard]] Bf16Products bf16_products();

// Returns how bf16_products() multiplies, for messages: "products of bf16 ...".
[[nodiscard]] std::string_view description_of(Bf16Products products);

// Returns whether the processor has instructions for products of bf16: AVX512-BF16, which each
// processor with AMX-BF16 has too.
[[nodiscard]] bool has_bf16_instructions();

// Returns the fastest precision of a step: bf16 if all processors of a job have instructions for
// it, else fp32. With AVX-512 alone, bf16 has not been measured.
[[nodiscard]] Precision fastest_precision(bool all_have_bf16_instructions);

// Returns the factor on the loss with which training begins, so that no gradient is too small for
// the precision; 0: none.
[[nodiscard]] double default_loss_scale(Precision precision);

}  // namespace bp::trainer
