// XXH3, 128 bits: tells contents apart; no protection against someone who forges them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace bp::trainer {

class Hash {
 public:
  Hash();
  ~Hash();
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  // Two sequences of additions give one hash only when they are the same, piece by piece.
  void add(std::string_view bytes);
  void add_number(std::int64_t number);
  [[nodiscard]] std::string hex() const;  // 32 digits

 private:
  XXH3_state_s* state_;
};

// Of one piece of text.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Digest&) const = default;
};
[[nodiscard]] Digest digest_of(std::string_view bytes);

struct FileHash {
  std::int64_t size = 0;
  std::string hex;
};
// Throws InputError 66.
[[nodiscard]] FileHash hash_file(const std::string& path);

}  // namespace bp::trainer
