#include "launcher/protocol/wire.h"

#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {

void WireWriter::u32(std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) {
    u8(static_cast<std::uint8_t>(value >> shift));
  }
}

void WireWriter::u64(std::uint64_t value) {
  u32(static_cast<std::uint32_t>(value));
  u32(static_cast<std::uint32_t>(value >> 32U));
}

void WireWriter::string(std::string_view value) {
  BP_CHECK(value.size() <= std::numeric_limits<std::uint32_t>::max(), "a string over 4 GiB");
  u32(static_cast<std::uint32_t>(value.size()));
  bytes_ += value;
}

void WireWriter::strings(std::span<const std::string> values) {
  u32(static_cast<std::uint32_t>(values.size()));
  for (const std::string& value : values) {
    string(value);
  }
}

std::string_view WireReader::take(std::size_t bytes) {
  if (bytes > rest_.size()) {
    throw Error(ErrorCode::io, concat("a message between bprun and its agent is cut off: ", bytes,
                                      " bytes wanted, ", rest_.size(), " left"));
  }
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

std::uint64_t WireReader::u64() {
  const std::uint64_t low = u32();
  return low | std::uint64_t{u32()} << 32U;
}

std::uint32_t WireReader::u32() {
  std::uint32_t value = 0;
  int shift = 0;
  for (const char c : take(4)) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << shift;
    shift += 8;
  }
  return value;
}

std::uint32_t WireReader::count(std::size_t least_bytes) {
  const std::uint32_t number = u32();
  if (number > rest_.size() / least_bytes) {
    throw Error(ErrorCode::io, concat("a message between bprun and its agent claims ", number,
                                      " entries in ", rest_.size(), " bytes"));
  }
  return number;
}

std::vector<std::string> WireReader::strings() {
  std::vector<std::string> values(count(4));
  for (std::string& value : values) {
    value = string();
  }
  return values;
}

void WireReader::expect_end() const {
  if (!rest_.empty()) {
    throw Error(ErrorCode::io, concat("a message between bprun and its agent has ", rest_.size(),
                                      " bytes too many"));
  }
}

}  // namespace bp::launcher
