#include "comm/torch/bucket_progress.h"

#include <algorithm>

namespace bp {

void BucketProgress::clear() {
  expect_no_more();
  next_ = 0;
}

void BucketProgress::expect_no_more() { std::ranges::fill(outstanding_, 0); }

std::optional<std::size_t> BucketProgress::next() {
  if (next_ == outstanding_.size() || outstanding_[next_] > 0) return std::nullopt;
  return next_++;
}

}  // namespace bp
