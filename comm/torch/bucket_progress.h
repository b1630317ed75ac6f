// Decides which buckets of a window may start. A bucket may start once all gradients that it waits
// for have arrived and all buckets before it have started, so every rank starts them in the same
// order. Needs no LibTorch.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace bp {

class BucketProgress {
 public:
  explicit BucketProgress(std::size_t buckets = 0) : outstanding_(buckets, 0) {}

  // Begins a window in which no bucket waits for a gradient.
  void clear();
  // Bucket `bucket` waits for `gradients` more gradients.
  void expect(std::size_t bucket, std::size_t gradients = 1) { outstanding_[bucket] += gradients; }
  // A gradient that `bucket` waits for has arrived.
  void arrived(std::size_t bucket) { --outstanding_[bucket]; }
  // No bucket waits for a gradient any more.
  void expect_no_more();

  // Returns the bucket to start next, which counts as started from here on. Returns nothing if it
  // still waits for a gradient, or if all have started.
  [[nodiscard]] std::optional<std::size_t> next();
  [[nodiscard]] bool has_started(std::size_t bucket) const { return bucket < next_; }

 private:
  std::vector<std::size_t> outstanding_;  // gradients that each bucket waits for
  std::size_t next_ = 0;
};

}  // namespace bp
