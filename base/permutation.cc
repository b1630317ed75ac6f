#include "base/permutation.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/mix.h"

namespace bp {
namespace {

// Every input bit affects every output bit.
std::uint64_t mix(std::uint64_t x) { return MixHash::mixed(x + MixHash::kStep); }

// A Feistel network over `bits` bits, which is a bijection for any round function. If `bits` is
// odd, the halves differ by one bit. They swap in each round, so the number of rounds must be even.
class Feistel {
 public:
  Feistel(int bits, std::uint64_t key)
      : high_bits_(bits / 2), low_bits_(bits - bits / 2), key_(key) {}

  [[nodiscard]] std::uint64_t operator()(std::uint64_t value) const {
    int high_bits = high_bits_;
    int low_bits = low_bits_;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t low = value & mask(low_bits);
      const std::uint64_t high = value >> low_bits;
      const std::uint64_t mixed = (high ^ mix(key_ ^ mix((low << 4) | round))) & mask(high_bits);
      value = (low << high_bits) | mixed;
      std::swap(high_bits, low_bits);
    }
    return value;
  }

 private:
  static constexpr std::uint64_t kRounds = 8;
  static std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

  int high_bits_;
  int low_bits_;
  std::uint64_t key_;
};

}  // namespace

std::int64_t permuted(std::int64_t position,
                      std::int64_t rows,
                      std::uint64_t seed,
                      std::int64_t epoch) {
  BP_CHECK(position >= 0 && position < rows, "a position outside the permutation");
  // At least 6 bits: with smaller halves the network reaches too few of the permutations.
  const int bits =
      std::max(6, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1))));
  const Feistel feistel(bits, mix(seed) ^ mix(~static_cast<std::uint64_t>(epoch)));
  auto value = static_cast<std::uint64_t>(position);
  do {  // follow the cycle until it comes back below `rows`
    value = feistel(value);
  } while (value >= static_cast<std::uint64_t>(rows));
  return static_cast<std::int64_t>(value);
}

Positions part_of(const Positions& whole, std::int64_t part, std::int64_t parts) {
  BP_CHECK(part >= 0 && part < parts, "a part outside the positions");
  const std::int64_t begin = whole.count * part / parts;
  const std::int64_t end = whole.count * (part + 1) / parts;
  return {.first = whole.first + begin, .count = end - begin};
}

}  // namespace bp
