#include "launcher/protocol/wire.h"

#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {

void WireWriter::put(std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) put(static_cast<std::uint8_t>(value >> shift));
}

void WireWriter::put(std::uint64_t value) {
  put(static_cast<std::uint32_t>(value));
  put(static_cast<std::uint32_t>(value >> 32U));
}

void WireWriter::put(std::string_view value) {
  BP_CHECK(value.size() <= std::numeric_limits<std::uint32_t>::max(), "a string over 4 GiB");
  put(static_cast<std::uint32_t>(value.size()));
  bytes_ += value;
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

void WireReader::get(std::uint64_t& value) {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  get(low);
  get(high);
  value = low | std::uint64_t{high} << 32U;
}

void WireReader::get(std::uint32_t& value) {
  value = 0;
  int shift = 0;
  for (const char c : take(4)) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << shift;
    shift += 8;
  }
}

void WireReader::get(std::int32_t& value) {
  std::uint32_t bits = 0;
  get(bits);
  value = static_cast<std::int32_t>(bits);
}

void WireReader::get(std::string_view& value) {
  std::uint32_t size = 0;
  get(size);
  value = take(size);
}

void WireReader::get(std::string& value) {
  std::string_view bytes;
  get(bytes);
  value = bytes;
}

std::uint32_t WireReader::count(std::size_t least_bytes) {
  std::uint32_t number = 0;
  get(number);
  if (number > rest_.size() / least_bytes) {
    throw Error(ErrorCode::io, concat("a message between bprun and its agent claims ", number,
                                      " entries in ", rest_.size(), " bytes"));
  }
  return number;
}

void WireReader::expect_end() const {
  if (!rest_.empty()) {
    throw Error(ErrorCode::io, concat("a message between bprun and its agent has ", rest_.size(),
                                      " bytes too many"));
  }
}

}  // namespace bp::launcher
