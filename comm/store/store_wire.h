// The store's protocol as bytes, without a network: converts messages to bytes and back, and finds
// the end of a frame. docs/store.md has the grammar and an example. Input may be hostile: every
// length is checked against its limit and against the bytes that exist, before memory is allocated.
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
inline constexpr std::size_t kMaxStoreText = std::size_t{16} << 10;  // bytes, of a failure
inline constexpr std::size_t kMaxStoreKeys = std::size_t{64} << 10;  // keys in one wait
inline constexpr std::size_t kMaxJobName = 256;
inline constexpr std::size_t kMaxHandshakeBody = std::size_t{1} << 10;
// Large enough for a compare_set, which carries a key and two values. A wait may fill it with keys.
inline constexpr std::size_t kMaxStoreBody = 2 * kMaxStoreValue + (std::size_t{64} << 10);
inline constexpr std::size_t kFrameHeader = 4;
inline constexpr std::size_t kFrameMac = 32;

enum class StoreOp : std::uint8_t {
  // The handshake, in this order. A refusal may replace the challenge or the welcome.
  hello = 1,      // number: rank; strings: job, nonce
  challenge = 2,  // strings: nonce, proof
  proof = 3,      // strings: proof
  welcome = 4,    // number: the interval of alive in ms
  refusal = 5,    // number: StoreRefusal
  // Requests of a client. The answer, in brackets, has the same id.
  set = 16,             // key, value (done or rejected)
  get = 17,             // key (found, once it exists; missing, after cancel; rejected)
  find = 18,            // key (found or missing)
  wait = 19,            // keys (done, once all exist; missing, after cancel; rejected)
  cancel = 20,          // id: that of the get or wait to end (none; the get or wait is answered)
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
  missing = 34,           // the keys that do not exist
  rejected = 35,          // why
  joined_survivors = 36,  // number: generation; the surviving ranks
  // Pushed by the server.
  failed = 48,  // number: cause; text
  stop_requested = 49,
};

enum class StoreRefusal : std::int64_t { version = 1, job = 2, rank_range = 3, rank_taken = 4 };

// Every message has this form. `op` decides which fields it uses.
struct StoreMessage {
  StoreOp op = StoreOp::done;
  std::uint64_t id = 0;
  std::int64_t number = 0;
  std::vector<std::string> strings = {};

  bool operator==(const StoreMessage&) const = default;
};

// A value that the server's table shares with any number of answers. No holder changes it.
using SharedValue = std::shared_ptr<const std::string>;

[[nodiscard]] std::size_t encoded_size(const StoreMessage& message);
[[nodiscard]] std::string encode_message(const StoreMessage& message);
// Encodes `message` with one more string, of `size` bytes, as its last, but without the bytes of
// that string. The caller sends them after the result, so they need not be copied.
[[nodiscard]] std::string encode_message_before(const StoreMessage& message, std::size_t size);
// Returns nothing unless `body` is one whole message of a known op, with the number and sizes of
// strings that the op allows.
[[nodiscard]] std::optional<StoreMessage> decode_message(std::string_view body);

// The body of a frame of the handshake, before both sides have a key for MACs. It begins with a
// magic word and the version, at an offset that is the same in every version, so each side can tell
// another version of bp from another protocol.
struct HandshakeBody {
  std::uint32_t version = kStoreVersion;
  std::optional<StoreMessage> message;  // nothing if malformed or of another version
};
[[nodiscard]] std::string encode_handshake(const StoreMessage& message,
                                           std::uint32_t version = kStoreVersion);
// Returns nothing if `body` is of another protocol.
[[nodiscard]] std::optional<HandshakeBody> decode_handshake(std::string_view body);

struct FrameLimits {
  std::size_t body = kMaxHandshakeBody;
  std::size_t mac = 0;  // bytes of MAC after the body
};

struct FrameView {
  enum class State : std::uint8_t { incomplete, complete, too_long };
  State state = State::incomplete;
  std::size_t size = kFrameHeader;  // of the whole frame, once its length has arrived
  std::string_view body;            // body and mac point into the bytes
  std::string_view mac;
};
// Parses the frame that begins with the first of `bytes`.
[[nodiscard]] FrameView next_frame(std::string_view bytes, const FrameLimits& limits);

// Append integers in big-endian order.
void append_u32(std::string& out, std::uint32_t value);
void append_u64(std::string& out, std::uint64_t value);

}  // namespace bp
