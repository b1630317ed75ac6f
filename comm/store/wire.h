// The store's protocol as bytes, without any network: messages to bytes and back, and where a frame
// ends. docs/store.md has the grammar and an example. What comes in is hostile until shown to be
// well formed: lengths are checked against the limits and against what is there before anything is
// allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bp {

inline constexpr std::uint32_t kStoreVersion = 2;

inline constexpr std::size_t kMaxStoreKey = std::size_t{4} << 10;
inline constexpr std::size_t kMaxStoreValue = std::size_t{16} << 20;
inline constexpr std::size_t kMaxStoreText = std::size_t{16} << 10;  // of a failure
inline constexpr std::size_t kMaxStoreKeys = std::size_t{64} << 10;  // that one request waits for
inline constexpr std::size_t kMaxJobName = 256;
inline constexpr std::size_t kMaxHandshakeBody = std::size_t{1} << 10;
// A compare_set carries a key and two values; a wait may fill this with keys.
inline constexpr std::size_t kMaxStoreBody = 2 * kMaxStoreValue + (std::size_t{64} << 10);
inline constexpr std::size_t kFrameHeader = 4;
inline constexpr std::size_t kFrameMac = 32;

enum class StoreOp : std::uint8_t {
  // The handshake, in this order; refusal may take the place of challenge or welcome.
  hello = 1,      // number: rank; strings: job, nonce
  challenge = 2,  // strings: nonce, proof
  proof = 3,      // strings: proof
  welcome = 4,    // number: how often to say alive, in ms
  refusal = 5,    // number: StoreRefusal
  // Requests of a client, answered under the same id. What answers: (in brackets)
  set = 16,             // key, value (done or rejected)
  get = 17,             // key (found, when it is there; missing, after cancel; rejected)
  find = 18,            // key (found or missing)
  wait = 19,            // keys (done, when all are there; missing, after cancel; rejected)
  cancel = 20,          // id of the get or wait to end now (its answer, if still owed)
  add = 21,             // number: delta; key (done with the sum as number, or rejected)
  compare_set = 22,     // key, expected, desired (found or rejected)
  append = 23,          // key, value (done or rejected)
  erase = 24,           // prefix (done with the count as number)
  fail = 25,            // number: cause; text (done)
  stop = 26,            // (done)
  goodbye = 27,         // (done)
  alive = 28,           // never answered
  join_survivors = 29,  // (joined_survivors or rejected)
  // Answers.
  done = 32,              // number
  found = 33,             // value
  missing = 34,           // the keys that are not there
  rejected = 35,          // why
  joined_survivors = 36,  // number: generation; the ranks that are left
  // Pushed by the server.
  failed = 48,  // number: cause; text
  stop_requested = 49,
};

enum class StoreRefusal : std::int64_t { version = 1, job = 2, rank_range = 3, rank_taken = 4 };

// Every message has this one form; which fields say something is up to `op`.
struct StoreMessage {
  StoreOp op = StoreOp::done;
  std::uint64_t id = 0;
  std::int64_t number = 0;
  std::vector<std::string> strings = {};

  bool operator==(const StoreMessage&) const = default;
};

// A value that the server's table and any number of its answers share. No holder changes it.
using SharedValue = std::shared_ptr<const std::string>;

[[nodiscard]] std::size_t encoded_size(const StoreMessage& message);
[[nodiscard]] std::string encode_message(const StoreMessage& message);
// Encodes `message` with one more string of `size` bytes behind its own, and leaves out the bytes
// of that string, which come last. The caller sends them from where they are.
[[nodiscard]] std::string encode_message_before(const StoreMessage& message, std::size_t size);
// Nothing unless `body` is one whole message of a known op whose strings have its number and sizes.
[[nodiscard]] std::optional<StoreMessage> decode_message(std::string_view body);

// Before both sides have a key for MACs, bodies begin with a magic word and the version, in a place
// that no version moves, so that each side can tell a stranger from another version.
struct HandshakeBody {
  std::uint32_t version = kStoreVersion;
  std::optional<StoreMessage> message;  // nothing if the version is another, or it is malformed
};
[[nodiscard]] std::string encode_handshake(const StoreMessage& message,
                                           std::uint32_t version = kStoreVersion);
// Nothing if it is not this protocol at all.
[[nodiscard]] std::optional<HandshakeBody> decode_handshake(std::string_view body);

struct FrameLimits {
  std::size_t body = kMaxHandshakeBody;
  std::size_t mac = 0;  // bytes of MAC after the body
};

struct FrameView {
  enum class State : std::uint8_t { incomplete, complete, too_long };
  State state = State::incomplete;
  std::size_t size = kFrameHeader;  // of the whole frame, as far as is known
  std::string_view body;            // these two point into the bytes
  std::string_view mac;
};
// Looks at the frame that begins at the first of `bytes`.
[[nodiscard]] FrameView next_frame(std::string_view bytes, const FrameLimits& limits);

// Big-endian integers, as they stand in a frame.
void append_u32(std::string& out, std::uint32_t value);
void append_u64(std::string& out, std::uint64_t value);

}  // namespace bp
