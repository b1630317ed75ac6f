#include "base/keys/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/random.h>

#include <cerrno>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {

Bytes32 random_bytes() {
  Bytes32 bytes{};
  // getrandom(2) promises up to 256 bytes in one call once the kernel's pool is filled.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ErrorCode::io, concat("getrandom: ", error_text(errno)));
  }
  return bytes;
}

struct Hmac::Context {
  struct Free {
    void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
    void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
  };
  std::unique_ptr<EVP_MAC, Free> mac{EVP_MAC_fetch(nullptr, "HMAC", nullptr)};
  std::unique_ptr<EVP_MAC_CTX, Free> context{EVP_MAC_CTX_new(mac.get())};
};

Hmac::Hmac(const Bytes32& key) : context_(std::make_unique<Context>()) {
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", digest, 0),
                               OSSL_PARAM_construct_end()};
  if (EVP_MAC_init(context_->context.get(), key.data(), key.size(), params) != 1) {
    throw Error(ErrorCode::unavailable, "OpenSSL on this machine has no HMAC-SHA-256");
  }
}

Hmac::Hmac(Hmac&&) noexcept = default;
Hmac& Hmac::operator=(Hmac&&) noexcept = default;
Hmac::~Hmac() = default;

Bytes32 Hmac::operator()(std::initializer_list<std::string_view> parts) {
  EVP_MAC_CTX* context = context_->context.get();
  Bytes32 result{};
  std::size_t size = 0;
  bool ok = EVP_MAC_init(context, nullptr, 0, nullptr) == 1;  // the same key again
  for (const std::string_view part : parts) {
    ok = ok && EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(part.data()),
                              part.size()) == 1;
  }
  ok = ok && EVP_MAC_final(context, result.data(), &size, result.size()) == 1;
  BP_CHECK(ok && size == result.size(), "HMAC-SHA-256 failed after it was set up");
  return result;
}

bool equal_secrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace bp
