// XXH3 with 128 bits. It distinguishes contents, but does not protect against forgery.
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

  // Two sequences of additions give the same hash only if they are equal piece by piece.
  void add(std::string_view bytes);
  void add_number(std::int64_t number);
  // Adds pieces that add() and add_number() would have added: each number as 8 bytes of this
  // machine, and other bytes behind their size.
  void add_pieces(std::string_view pieces);
  [[nodiscard]] std::string hex() const;  // 32 hex digits

 private:
  XXH3_state_s* state_;
};

// The hash of one text.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Digest&) const = default;  // NOLINT(modernize-use-nullptr): false alarm
};
[[nodiscard]] Digest digest_of(std::string_view bytes);

struct FileHash {
  std::int64_t size = 0;
  std::string hex;
};
// Hashes a whole file. Throws InputError 66 if it cannot be read.
[[nodiscard]] FileHash hash_file(const std::string& path);

}  // namespace bp::trainer
