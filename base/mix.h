// A fast hash for headers. Every bit of the input affects every bit of the output. It is not
// cryptographic: collisions can be constructed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace bp {

// The sum of the words, each mixed with its position by the finalizer of SplitMix64. The words do
// not depend on each other, so the processor mixes several at a time.
class MixHash {
 public:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;  // of SplitMix64
  static std::uint64_t mixed(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
    return word ^ (word >> 31);
  }

  void add(std::uint64_t word) {
    position_ += kStep;
    sum_ += mixed(word ^ position_);
  }
  void add(std::string_view text) {
    add(text.size());  // so that {"a", "b"} differs from {"ab", ""}
    std::uint64_t word = 0;
    for (; text.size() >= sizeof(word); text.remove_prefix(sizeof(word))) {
      std::memcpy(&word, text.data(), sizeof(word));
      add(word);
    }
    word = 0;
    for (const char c : text) word = word << 8 | static_cast<unsigned char>(c);
    add(word);
  }
  [[nodiscard]] std::uint64_t value() const { return mixed(sum_); }

 private:
  std::uint64_t position_ = 0;
  std::uint64_t sum_ = 0;
};

[[nodiscard]] inline std::uint64_t mix_hash(std::string_view text) {
  MixHash hash;
  hash.add(text);
  return hash.value();
}

}  // namespace bp
