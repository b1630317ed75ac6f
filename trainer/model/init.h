// First weights of a model from scratch.
#pragma once

#include <cstdint>
#include <string_view>

namespace at {
class Tensor;
}

namespace bp::trainer {

// Normal numbers that depend on seed, name and place in the tensor only: not on threads, on the
// order in which parameters are made, or on the processor's vector width.
void fill_normal(at::Tensor& tensor, double deviation, std::uint64_t seed, std::string_view name);

}  // namespace bp::trainer
