// A small hash for headers: quick, and every bit of the input reaches every bit of the output. No
// protection against somebody who looks for collisions.
#pragma once

#include <cstdint>
#include <string_view>

namespace bp {

// FNV-1a, over words and over the bytes of texts; then the finalizer of MurmurHash3.
class MixHash {
 public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x100000001b3ULL;
    state_ ^= state_ >> 32;
  }
  void add(std::string_view text) {
    for (const char c : text) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    add(text.size());  // so that {"a", "b"} differs from {"ab", ""}
  }
  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t h = state_;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdULL;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace bp
