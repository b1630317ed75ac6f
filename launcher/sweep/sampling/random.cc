#include "launcher/sweep/sampling/random.h"

#include "base/mix.h"

namespace bp::launcher::sweep {

Random::Random(std::uint64_t seed, std::uint64_t block, std::uint64_t choice) {
  MixHash hash;
  hash.add(seed);
  hash.add(block);
  hash.add(choice);
  state_ = hash.value();
}

std::uint64_t Random::word() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

double Random::uniform() { return (static_cast<double>(word() >> 12) + 0.5) * 0x1p-52; }

std::size_t Random::below(std::size_t n) {
  return static_cast<std::size_t>(uniform() * static_cast<double>(n));
}

}  // namespace bp::launcher::sweep
