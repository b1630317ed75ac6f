#include "trainer/input/byte_input.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/input_error.h"
#include "base/system/regular_file.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

Fd open_file(const std::string& path) {
  OpenedFile file = open_regular_file(path);
  if (file.problem.empty()) return std::move(file.fd);
  throw InputError(
      66, concat("cannot read ", path, ": ", file.problem),
      file.error == ENOENT ? "check the name, and the folder in which it is looked for"
      : file.error == 0
          ? "give a CSV, TSV or JSON lines file; a pipe must be written to a file first"
          : "check the file's permissions");
}

}  // namespace

std::string_view ByteInput::start() {
  if (!start_.empty() || failure_) return start_;
  constexpr std::size_t kStart = std::size_t{1} << 14;
  start_.resize(kStart);
  std::size_t filled = 0;
  try {
    while (filled < kStart) {
      const std::size_t count = read_next(std::span(start_).subspan(filled));
      if (count == 0) break;
      filled += count;
    }
  } catch (const BrokenInput&) {
    failure_ = std::current_exception();
  }
  start_.resize(filled);
  return start_;
}

std::size_t ByteInput::read(std::span<char> room) {
  if (start_used_ < start_.size()) {
    const std::size_t count = std::min(room.size(), start_.size() - start_used_);
    std::copy_n(start_.data() + start_used_, count, room.data());
    start_used_ += count;
    return count;
  }
  if (failure_) std::rethrow_exception(failure_);
  return read_next(room);
}

std::string ByteInput::name_of_byte(char byte, std::int64_t offset) const {
  constexpr char kHex[] = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  return concat("byte 0x", kHex[value >> 4], kHex[value & 0xFU], " at offset ", offset, " of ",
                content_name());
}

FileInput::FileInput(const std::string& path) : fd_(open_file(path)) {}

std::size_t FileInput::read_next(std::span<char> room) {
  ssize_t count = 0;
  do {
    count = ::read(fd_.get(), room.data(), room.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    throw BrokenInput(66, concat("the file cannot be read: ", error_text(errno)),
                      "check the disk or the network folder it lies on");
  }
  return static_cast<std::size_t>(count);
}

}  // namespace bp::trainer
