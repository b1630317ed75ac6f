// Vector clocks: which work of which stream is known to be done before other work begins.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fake_cuda {

class Clock {
 public:
  [[nodiscard]] std::uint64_t of(std::size_t stream) const {
    return stream < times_.size() ? times_[stream] : 0;
  }
  void advance(std::size_t stream) {
    if (times_.size() <= stream) times_.resize(stream + 1);
    ++times_[stream];
  }
  void learn(const Clock& other) {
    if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
    for (std::size_t i = 0; i < other.times_.size(); ++i) {
      times_[i] = std::max(times_[i], other.times_[i]);
    }
  }

 private:
  std::vector<std::uint64_t> times_;
};

}  // namespace fake_cuda
