// Where the chunks of one collective after another lie on every rank's stage. Either they take
// turns in as little of it as possible, or they go all the way round: a place is then written again
// only after a megabyte of others, when its lines have left the second-level caches of those who
// read them. Where cores share the third level, a line that another's still has takes five times as
// long to write.
//
// A chunk overlaps neither of the two before it in its collective, nor the last of the collective
// before: those may still be read while it is written.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/check.h"

namespace bp {

class StageRing {
 public:
  static constexpr std::size_t kChunks = 4;  // of the longest: fewer could overlap at the seam

  explicit StageRing(std::size_t longest_chunk) : bytes_(kChunks * longest_chunk) {}

  // A collective begins whose chunks have so many bytes: the same on every rank.
  void begin(std::size_t chunk) { lay(chunk, kChunks * chunk); }
  void begin_round(std::size_t chunk) { lay(chunk, bytes_); }
  [[nodiscard]] std::size_t place(std::size_t step) const {
    const std::size_t before_seam = (seam_ - first_) / chunk_;
    if (step < before_seam) return first_ + step * chunk_;
    return (step - before_seam) % (seam_ / chunk_) * chunk_;
  }
  // It used so many chunks.
  void end(std::size_t steps) {
    last_ = place(steps - 1);
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
  std::size_t last_ = 0;  // of the collective before: its last chunk,
  std::size_t next_ = 0;  // and the end of it
  std::size_t chunk_ = 1;
  std::size_t first_ = 0;
  std::size_t seam_ = 1;  // behind which the next lies at the beginning
};

}  // namespace bp
