// What is the same for all backends: factors before and after a reduction, groups of tensors, and
// averages over some of the ranks only.
#pragma once

#include "comm/backend/backend.h"

namespace bp {

// Tensors of up to so many bytes are packed, so that many of them cost no more than one; it is no
// use where moving the bytes takes longer than a few messages.
inline constexpr std::size_t kPackedBytes = std::size_t{64} << 10;

// `backend` carries `operation` out. `room` is for this alone.
void perform(Backend& backend, const Operation& operation, CollectiveCall& call, Scratch& room);

}  // namespace bp
