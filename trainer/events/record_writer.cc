#include "trainer/events/record_writer.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdint>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/data/protobuf_message.h"
#include "trainer/data/whole_file.h"
#include "trainer/events/crc32c.h"

namespace bp::trainer {
namespace {

constexpr int kRecordFileMode = 0644;

}  // namespace

std::string framed_record(std::string_view content) {
  std::string length;
  append_little_endian(length, static_cast<std::uint64_t>(content.size()));
  std::string record = length;
  append_little_endian(record, masked_crc32c(length));
  record += content;
  append_little_endian(record, masked_crc32c(content));
  return record;
}

RecordWriter::RecordWriter(const std::string& path)
    : path_(path),
      file_(::open(
          path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kRecordFileMode)) {
  if (!file_) throw Error(ErrorCode::io, concat("cannot make ", path, ": ", error_text(errno)));
}

void RecordWriter::write(std::string_view content) {
  const std::string record = framed_record(content);
  if (write_all(file_.get(), record.data(), record.size()) != record.size()) {
    fail_to_write(path_, errno, record.size());
  }
}

}  // namespace bp::trainer
