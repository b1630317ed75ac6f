// Chooses the offsets of the chunks of successive collectives in each rank's stage. begin() uses as
// few bytes of the stage as possible; begin_round() cycles through all of it. An offset is then
// rewritten only after 1 MiB of other chunks, when the readers' L2 caches no longer hold its lines:
// where cores share an L3 cache, writing a line that another core's L2 still holds takes five times
// as long.
//
// Invariant: a chunk overlaps neither the two chunks before it in its collective nor the last chunk
// of the previous collective, because peers may still be reading those.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/check.h"

namespace bp {

class StageRing {
 public:
  static constexpr std::size_t kChunks = 4;  // of the longest: fewer could overlap at the seam

  explicit StageRing(std::size_t longest_chunk) : bytes_(kChunks * longest_chunk) {}

  // A collective begins whose chunks have `chunk` bytes. All ranks must pass the same value.
  void begin(std::size_t chunk) { lay(chunk, kChunks * chunk); }
  void begin_round(std::size_t chunk) { lay(chunk, bytes_); }
  [[nodiscard]] std::size_t offset(std::size_t step) const {
    const std::size_t before_seam = (seam_ - first_) / chunk_;
    if (step < before_seam) return first_ + step * chunk_;
    return (step - before_seam) % (seam_ / chunk_) * chunk_;
  }
  // The collective has used `steps` chunks.
  void end(std::size_t steps) {
    last_ = offset(steps - 1);
    next_ = last_ + chunk_;
  }

 private:
  void lay(std::size_t chunk, std::size_t seam) {
    BP_CHECK(chunk > 0 && chunk * kChunks <= bytes_, "a chunk is a quarter of the ring at most");
    chunk_ = chunk;
    // From the beginning again, unless a longer chunk lies there.
    first_ = next_ + chunk > seam && last_ >= chunk ? 0 : next_;
    seam_ = std::max(seam, first_ + chunk);
  }

  std::size_t bytes_;
  std::size_t last_ = 0;  // the offset of the last chunk of the previous collective
  std::size_t next_ = 0;  // and the end of that chunk
  std::size_t chunk_ = 1;
  std::size_t first_ = 0;
  std::size_t seam_ = 1;  // the chunk after this offset lies at the beginning
};

}  // namespace bp
