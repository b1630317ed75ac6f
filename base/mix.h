// A small hash for headers: quick, and every bit of the input reaches every bit of the output. No
// protection against somebody who looks for collisions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace bp {

// The sum of the words, each mixed with its place by the finalizer of SplitMix64, so that the
// processor can work on several at a time.
class MixHash {
 public:
  void add(std::uint64_t word) {
    place_ += 0x9e3779b97f4a7c15ULL;
    sum_ += mixed(word ^ place_);
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
  static std::uint64_t mixed(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
    return word ^ (word >> 31);
  }

  std::uint64_t place_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace bp
