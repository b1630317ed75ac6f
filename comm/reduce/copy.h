// Copies between a rank's vectors and the memory that ranks share: through the caches, or past
// them.
#pragma once

#include <cstddef>

namespace bp {

// Copies `bytes` bytes. The ranges must not overlap, unless they are the same. Uses vectors for
// every length: memcpy of glibc 2.36 uses `rep movsb` from 4 KiB on where the processor reports
// that as fast, and on Zen 3 it is not (all-reduce of 1 MiB in any memory, 4 ranks on 2 cores:
// 1,150 us instead of 400).
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes);

// Copies `bytes` bytes past the caches into memory. The ranges must not overlap, unless they are
// the same. After finish_streams() of the same thread, a thread that acquires a later release sees
// what was written.
//
// This is for data that a core with another cache reads next. Through the caches, this core must
// first take back each line that the other has read, only to overwrite it: 30 to 40 ns a line, one
// after the other. Measured with two cores, an all-reduce of 1 MiB in any memory takes 800 us
// through two caches and 150 past them, but 65 through one cache that both share and 180 past it.
// And it is for results that no cache can hold (comm/backend/shared/shared_parts.h).
void stream(std::byte* to, const std::byte* from, std::size_t bytes);
void finish_streams();

}  // namespace bp
