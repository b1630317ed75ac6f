// Initial weights of a model that is trained from scratch.
#pragma once

#include <cstdint>
#include <string_view>

namespace at {
class Tensor;
}

namespace bp::trainer {

// Fills the tensor with normal numbers that depend only on the seed, the name and the index in the
// tensor: not on threads, on the order in which parameters are made, or on the processor's vector
// width.
void fill_normal(at::Tensor& tensor, double deviation, std::uint64_t seed, std::string_view name);

// The same with numbers that are uniform between -bound and bound.
void fill_uniform(at::Tensor& tensor, double bound, std::uint64_t seed, std::string_view name);

}  // namespace bp::trainer
