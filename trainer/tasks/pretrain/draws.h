// Random numbers that depend only on a key, such as (seed, epoch, sample), and on how many were
// drawn before: the same on every rank, on every machine, and for any number of threads.
#pragma once

#include <cstdint>
#include <limits>

namespace bp::trainer {

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t first, std::uint64_t second)
      : key_(mixed(mixed(mixed(seed) ^ first) ^ second)) {}

  // SplitMix64: a counter, each of whose values is mixed.
  [[nodiscard]] std::uint64_t next() { return mixed(key_ += kStep); }

  // Returns a number 0 .. end-1, each as likely as the others. `end` is not 0. This is Lemire's
  // method: it draws again where the numbers that are left over would make some more likely.
  [[nodiscard]] std::uint32_t below(std::uint32_t end) {
    std::uint64_t product = (next() >> 32) * end;
    if (static_cast<std::uint32_t>(product) < end) {
      const std::uint32_t left_over = (std::numeric_limits<std::uint32_t>::max() - end + 1) % end;
      while (static_cast<std::uint32_t>(product) < left_over) product = (next() >> 32) * end;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  // Returns true with this probability.
  [[nodiscard]] bool happens(double probability) {
    return static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;

  static std::uint64_t mixed(std::uint64_t x) {
    x += kStep;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }

  std::uint64_t key_;
};

}  // namespace bp::trainer
