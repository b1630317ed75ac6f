#include "trainer/events/record_writer.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/protobuf_message.h"
#include "trainer/common/whole_file.h"

namespace bp::trainer {
namespace {

constexpr std::uint32_t kReversedCastagnoli = 0x82F63B78;

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) {
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? kReversedCastagnoli : 0);
    }
    table[byte] = rest;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kCrcTable = make_crc_table();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  constexpr std::uint32_t kDelta = 0xA282EAD8;
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + kDelta;
}

RecordWriter::RecordWriter(const std::string& path)
    : path_(path),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644)) {
  if (!file_) throw Error(ErrorCode::io, concat("cannot make ", path, ": ", error_text(errno)));
}

void RecordWriter::write(std::string_view content) {
  std::string record;
  append_little_endian(record, static_cast<std::uint64_t>(content.size()));
  append_little_endian(record, masked_crc32c(record));
  record += content;
  append_little_endian(record, masked_crc32c(content));
  if (write_all(file_.get(), record.data(), record.size()) != record.size()) {
    fail_to_write(path_, errno, record.size());
  }
}

}  // namespace bp::trainer
