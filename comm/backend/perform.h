// The parts of a collective that are the same for all backends: factors before and after a
// reduction, groups of tensors, and averages over some of the ranks only.
#pragma once

#include <cstddef>

#include "comm/backend/common/backend.h"

namespace bp {

// Tensors of up to this size are packed, so that many of them cost no more than one. Packing larger
// ones takes longer than the few messages that it saves.
inline constexpr std::size_t kPackedBytes = std::size_t{64} << 10;

// Carries out `operation` by `backend`, which serves its device. `room` is used by this call alone.
void perform(Backend& backend,
             const Operation& operation,
             CollectiveCall& call,
             ScratchMemory& room);

}  // namespace bp
