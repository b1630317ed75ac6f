#include "trainer/data/sampler.h"

#include <algorithm>
#include <bit>

#include "bp/error.h"
#include "comm/base/check.h"
#include "comm/base/text.h"

namespace bp::trainer {
namespace {

// The finalizer of splitmix64: every input bit changes every output bit.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// A Feistel network over `bits` bits: a bijection whatever the round function is. The halves
// differ by one bit where `bits` is odd and change places each round, so the number of rounds is
// even.
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

void check_options(const SamplerOptions& options) {
  if (options.rows < 0 || options.ranks < 1 || options.batch < 1 || options.micro_batches < 1) {
    throw Error(ErrorCode::invalid_argument,
                concat("sampler: rows must be 0 or more, ranks, batch and micro_batches 1 or more, "
                       "but they are ",
                       options.rows, ", ", options.ranks, ", ", options.batch, " and ",
                       options.micro_batches));
  }
}

}  // namespace

std::int64_t permuted(std::int64_t position,
                      std::int64_t rows,
                      std::uint64_t seed,
                      std::int64_t epoch) {
  BP_CHECK(position >= 0 && position < rows, "a position outside the permutation");
  // Not under 6 bits: with tiny halves too few of the permutations could be reached.
  const int bits =
      std::max(6, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1))));
  const Feistel feistel(bits, mix(seed) ^ mix(~static_cast<std::uint64_t>(epoch)));
  auto value = static_cast<std::uint64_t>(position);
  do {  // walk the cycle until it comes back below `rows`
    value = feistel(value);
  } while (value >= static_cast<std::uint64_t>(rows));
  return static_cast<std::int64_t>(value);
}

Sampler::Sampler(const SamplerOptions& options) : options_(options) { check_options(options); }

std::int64_t Sampler::step_rows() const {
  return std::int64_t{options_.ranks} * options_.batch * options_.micro_batches;
}

std::int64_t Sampler::steps_per_epoch() const {
  return (options_.rows + step_rows() - 1) / step_rows();
}

EpochPosition Sampler::after(const EpochPosition& position) const {
  const std::int64_t used = position.used + step_rows();
  return used < options_.rows ? EpochPosition{position.epoch, used}
                              : EpochPosition{position.epoch + 1, 0};
}

std::int64_t Sampler::steps_until(std::int64_t epochs, const EpochPosition& position) const {
  const std::int64_t of_this_epoch =
      (options_.rows - position.used + step_rows() - 1) / step_rows();
  return (epochs - position.epoch - 1) * steps_per_epoch() + of_this_epoch;
}

std::vector<std::int64_t> Sampler::rows(const Place& place) const {
  const std::int64_t first = place.position.used;
  BP_CHECK(first >= 0 && first < options_.rows, "a step outside the epoch");
  BP_CHECK(place.rank >= 0 && place.rank < options_.ranks, "a rank outside the world");
  BP_CHECK(place.micro_batch >= 0 && place.micro_batch < options_.micro_batches,
           "a micro-batch outside the step");
  const std::int64_t count = std::min(step_rows(), options_.rows - first);
  const std::int64_t parts = std::int64_t{options_.ranks} * options_.micro_batches;
  const std::int64_t part = std::int64_t{place.rank} * options_.micro_batches + place.micro_batch;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
    rows.push_back(permuted(first + i, options_.rows, options_.seed, place.position.epoch));
  }
  return rows;
}

}  // namespace bp::trainer
