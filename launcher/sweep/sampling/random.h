// Random numbers that are the same on every machine. The standard's distributions are not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mix.h"

namespace bp::launcher::sweep {

// SplitMix64, begun from any number of words.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t block, std::uint64_t choice) {
    MixHash hash;
    hash.add(seed);
    hash.add(block);
    hash.add(choice);
    state_ = hash.value();
  }

  [[nodiscard]] double uniform() {  // from 0 to 1, without both
    return (static_cast<double>(word() >> 12) + 0.5) * 0x1p-52;
  }
  [[nodiscard]] std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(n));
  }

 private:
  std::uint64_t word() { return MixHash::mixed(state_ += MixHash::kStep); }

  std::uint64_t state_ = 0;
};

}  // namespace bp::launcher::sweep
