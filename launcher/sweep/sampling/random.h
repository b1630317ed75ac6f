// Random numbers that are the same on every machine. The standard's distributions are not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bp::launcher::sweep {

// SplitMix64, begun from any number of words.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t block, std::uint64_t choice);

  [[nodiscard]] std::uint64_t word();
  [[nodiscard]] double uniform();  // from 0 to 1, without both
  [[nodiscard]] std::size_t below(std::size_t n);

 private:
  std::uint64_t state_;
};

}  // namespace bp::launcher::sweep
