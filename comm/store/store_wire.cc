#include "comm/store/store_wire.h"

#include <algorithm>
#include <array>
#include <limits>

namespace bp {
namespace {

constexpr std::string_view kMagic = "bpst";
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

// The number of strings that an op may have, and the largest sizes of the first and of the others.
struct Shape {
  StoreOp op;
  std::size_t least;
  std::size_t most;
  std::size_t first_limit;
  std::size_t other_limit;
};

constexpr std::size_t kMaxRankText = 11;

constexpr std::array kShapes = {
    Shape{StoreOp::hello, 2, 2, kMaxJobName, 32},
    Shape{StoreOp::challenge, 2, 2, 32, 32},
    Shape{StoreOp::proof, 1, 1, 32, 0},
    Shape{StoreOp::welcome, 0, 0, 0, 0},
    Shape{StoreOp::refusal, 0, 0, 0, 0},
    Shape{StoreOp::set, 2, 2, kMaxStoreKey, kMaxStoreValue},
    Shape{StoreOp::get, 1, 1, kMaxStoreKey, 0},
    Shape{StoreOp::find, 1, 1, kMaxStoreKey, 0},
    Shape{StoreOp::wait, 1, kMaxStoreKeys, kMaxStoreKey, kMaxStoreKey},
    Shape{StoreOp::cancel, 0, 0, 0, 0},
    Shape{StoreOp::add, 1, 1, kMaxStoreKey, 0},
    Shape{StoreOp::compare_set, 3, 3, kMaxStoreKey, kMaxStoreValue},
    Shape{StoreOp::append, 2, 2, kMaxStoreKey, kMaxStoreValue},
    Shape{StoreOp::erase, 1, 1, kMaxStoreKey, 0},
    Shape{StoreOp::fail, 1, 1, kMaxStoreText, 0},
    Shape{StoreOp::stop, 0, 0, 0, 0},
    Shape{StoreOp::goodbye, 0, 0, 0, 0},
    Shape{StoreOp::alive, 0, 0, 0, 0},
    Shape{StoreOp::join_survivors, 0, 0, 0, 0},
    Shape{StoreOp::done, 0, 0, 0, 0},
    Shape{StoreOp::found, 1, 1, kMaxStoreValue, 0},
    Shape{StoreOp::missing, 0, kMaxStoreKeys, kMaxStoreKey, kMaxStoreKey},
    Shape{StoreOp::rejected, 1, 1, kMaxStoreText, 0},
    Shape{StoreOp::joined_survivors, 0, kAny, kMaxRankText, kMaxRankText},
    Shape{StoreOp::failed, 1, 1, kMaxStoreText, 0},
    Shape{StoreOp::stop_requested, 0, 0, 0, 0},
};

template <class Unsigned>
void append_big_endian(std::string& out, Unsigned value) {
  for (int shift = std::numeric_limits<Unsigned>::digits - 8; shift >= 0; shift -= 8) {
    out += static_cast<char>(static_cast<unsigned char>(value >> shift));
  }
}

// Takes fields from the front. Once one is missing, ok() stays false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class Unsigned>
  Unsigned number() {
    Unsigned value = 0;
    for (const char c : bytes(sizeof(Unsigned))) {
      value = static_cast<Unsigned>((value << (sizeof(Unsigned) > 1 ? 8 : 0)) |
                                    static_cast<unsigned char>(c));
    }
    return value;
  }

  std::string_view bytes(std::size_t size) {
    if (size > left_.size()) {
      ok_ = false;
      left_ = {};
      return {};
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

bool read_strings(Reader& reader, const Shape& shape, std::vector<std::string>& strings) {
  const auto count = reader.number<std::uint32_t>();
  // Each string takes at least its length field, so this limits the memory that is reserved.
  if (count < shape.least || count > shape.most || count > reader.left() / sizeof(count)) {
    return false;
  }
  strings.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto size = reader.number<std::uint32_t>();
    if (size > (i == 0 ? shape.first_limit : shape.other_limit)) {
      return false;
    }
    strings.emplace_back(reader.bytes(size));
  }
  return reader.ok() && reader.left() == 0;
}

// `count` may be larger than the number of strings of `message`.
std::string encode_strings(const StoreMessage& message, std::size_t count) {
  std::string body;
  body.reserve(encoded_size(message) + sizeof(std::uint32_t));
  body += static_cast<char>(message.op);
  append_u64(body, message.id);
  append_u64(body, static_cast<std::uint64_t>(message.number));
  append_u32(body, static_cast<std::uint32_t>(count));
  for (const std::string& string : message.strings) {
    append_u32(body, static_cast<std::uint32_t>(string.size()));
    body += string;
  }
  return body;
}

}  // namespace

void append_u32(std::string& out, std::uint32_t value) { append_big_endian(out, value); }
void append_u64(std::string& out, std::uint64_t value) { append_big_endian(out, value); }

std::size_t encoded_size(const StoreMessage& message) {
  std::size_t size = 1 + 8 + 8 + 4;
  for (const std::string& string : message.strings) {
    size += 4 + string.size();
  }
  return size;
}

std::string encode_message(const StoreMessage& message) {
  return encode_strings(message, message.strings.size());
}

std::string encode_message_before(const StoreMessage& message, std::size_t size) {
  std::string body = encode_strings(message, message.strings.size() + 1);
  append_u32(body, static_cast<std::uint32_t>(size));
  return body;
}

std::optional<StoreMessage> decode_message(std::string_view body) {
  Reader reader(body);
  StoreMessage message;
  message.op = static_cast<StoreOp>(reader.number<std::uint8_t>());
  message.id = reader.number<std::uint64_t>();
  message.number = static_cast<std::int64_t>(reader.number<std::uint64_t>());
  const auto* shape = std::find_if(kShapes.begin(), kShapes.end(),
                                   [&](const Shape& other) { return other.op == message.op; });
  if (shape == kShapes.end() || !read_strings(reader, *shape, message.strings)) {
    return std::nullopt;
  }
  return message;
}

std::string encode_handshake(const StoreMessage& message, std::uint32_t version) {
  std::string body(kMagic);
  append_u32(body, version);
  return body + encode_message(message);
}

std::optional<HandshakeBody> decode_handshake(std::string_view body) {
  Reader reader(body);
  const bool is_store_protocol = reader.bytes(kMagic.size()) == kMagic;
  HandshakeBody handshake;
  handshake.version = reader.number<std::uint32_t>();
  if (!is_store_protocol || !reader.ok()) {
    return std::nullopt;
  }
  if (handshake.version == kStoreVersion) {
    handshake.message = decode_message(reader.bytes(reader.left()));
  }
  return handshake;
}

FrameView next_frame(std::string_view bytes, const FrameLimits& limits) {
  FrameView frame;
  if (bytes.size() < kFrameHeader) {
    return frame;
  }
  const std::size_t body_size = Reader(bytes).number<std::uint32_t>();
  if (body_size > limits.body) {
    frame.state = FrameView::State::too_long;
    return frame;
  }
  frame.size = kFrameHeader + body_size + limits.mac;
  if (bytes.size() >= frame.size) {
    frame.state = FrameView::State::complete;
    frame.body = bytes.substr(kFrameHeader, body_size);
    frame.mac = bytes.substr(kFrameHeader + body_size, limits.mac);
  }
  return frame;
}

}  // namespace bp
