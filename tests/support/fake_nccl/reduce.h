// The reductions of the fake NCCL.
#pragma once

#include <cstddef>

namespace fake_nccl {

[[nodiscard]] std::size_t size_of(int type);  // by NCCL's number

// Combines `count` elements of the ranks, in their order, as NCCL's reduction of this number does:
// an average multiplies each element by 1 / ranks.
void combine(int type,
             int reduction,
             int ranks,
             const std::byte* const* from,
             std::byte* to,
             std::size_t count);

}  // namespace fake_nccl
