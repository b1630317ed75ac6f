// HMAC-SHA-256 (OpenSSL's) and random bytes (the kernel's).
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <string_view>

namespace bp {

using Bytes32 = std::array<unsigned char, 32>;

[[nodiscard]] inline std::string_view view_of(const Bytes32& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns new bytes of the kernel's generator. Throws io.
[[nodiscard]] Bytes32 random_bytes();

// Authenticates any number of messages with one key. Throws unavailable if OpenSSL has no
// HMAC-SHA-256. Threads: one at a time.
class Hmac {
 public:
  explicit Hmac(const Bytes32& key);
  Hmac(Hmac&&) noexcept;
  Hmac& operator=(Hmac&&) noexcept;
  ~Hmac();

  // Returns the MAC of the parts one after another. It does not cover where each part ends.
  [[nodiscard]] Bytes32 operator()(std::initializer_list<std::string_view> parts);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Compares in a time that depends only on the size.
[[nodiscard]] bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace bp
