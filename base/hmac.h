// HMAC-SHA-256 and random bytes, of OpenSSL and the kernel.
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

// Fresh from the kernel's generator; throws io.
[[nodiscard]] Bytes32 random_bytes();

// One key, any number of messages. Not for two threads at once.
class Hmac {
 public:
  explicit Hmac(const Bytes32& key);
  Hmac(Hmac&&) noexcept;
  Hmac& operator=(Hmac&&) noexcept;
  ~Hmac();

  // Of the parts one after the other; where they end is not covered.
  [[nodiscard]] Bytes32 operator()(std::initializer_list<std::string_view> parts);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Takes as long for equal as for different ones.
[[nodiscard]] bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace bp
