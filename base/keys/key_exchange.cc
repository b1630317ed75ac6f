#include "base/keys/key_exchange.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr int kTag = 16;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeKey>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeKey>;

// A key serves for one text, so its nonce need not differ from another's.
CipherContext cipher_with(const Bytes32& key, bool encrypts) {
  constexpr std::array<unsigned char, 12> kNonce{};
  CipherContext context(EVP_CIPHER_CTX_new());
  BP_CHECK(EVP_CipherInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), kNonce.data(),
                             encrypts ? 1 : 0) == 1,
           "AES-256-GCM cannot be set up");
  return context;
}

}  // namespace

struct KeyExchange::Pair {
  Key key;
};

KeyExchange::KeyExchange()
    : pair_(std::make_unique<Pair>(Pair{Key(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"))})) {
  std::size_t size = public_key_.size();
  if (!pair_->key ||
      EVP_PKEY_get_raw_public_key(pair_->key.get(), public_key_.data(), &size) != 1) {
    throw Error(ErrorCode::unavailable, "OpenSSL on this machine has no X25519");
  }
}

KeyExchange::KeyExchange(KeyExchange&&) noexcept = default;
KeyExchange& KeyExchange::operator=(KeyExchange&&) noexcept = default;
KeyExchange::~KeyExchange() = default;

std::optional<Bytes32> KeyExchange::shared_key(std::string_view theirs,
                                               std::string_view purpose) const {
  const Key other(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, bytes_of(theirs), theirs.size()));
  const KeyContext context(EVP_PKEY_CTX_new(pair_->key.get(), nullptr));
  Bytes32 secret{};
  std::size_t size = secret.size();
  if (!other || !context || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_derive_set_peer(context.get(), other.get()) != 1 ||
      EVP_PKEY_derive(context.get(), secret.data(), &size) != 1) {
    return std::nullopt;
  }
  // The same at both ends: the keys in the order of their bytes.
  const std::string_view own = view_of(public_key_);
  return Hmac(secret)({purpose, std::min(own, theirs), std::max(own, theirs)});
}

std::string encrypt_once(const Bytes32& key, std::string_view text) {
  const CipherContext context = cipher_with(key, true);
  std::string bytes(text.size() + kTag, '\0');
  int size = 0;
  const bool ok = EVP_EncryptUpdate(context.get(), bytes_of(bytes), &size, bytes_of(text),
                                    static_cast<int>(text.size())) == 1 &&
                  EVP_EncryptFinal_ex(context.get(), bytes_of(bytes) + size, &size) == 1 &&
                  EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTag,
                                      bytes.data() + text.size()) == 1;
  BP_CHECK(ok, "AES-256-GCM failed after it was set up");
  return bytes;
}

std::optional<std::string> decrypt_once(const Bytes32& key, std::string_view bytes) {
  if (bytes.size() < kTag) return std::nullopt;
  const CipherContext context = cipher_with(key, false);
  std::string tag(bytes.substr(bytes.size() - kTag));
  bytes.remove_suffix(kTag);
  std::string text(bytes.size(), '\0');
  int size = 0;
  const bool genuine =
      EVP_DecryptUpdate(context.get(), bytes_of(text), &size, bytes_of(bytes),
                        static_cast<int>(bytes.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTag, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes_of(text) + size, &size) == 1;
  return genuine ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace bp
