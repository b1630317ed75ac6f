#include "trainer/model/files/byte_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/system/regular_file.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw Error(ErrorCode::io, concat("cannot ", what, " ", path, ": ", error_text(error)));
}

// Does not compute offset + bytes, which may overflow.
bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

}  // namespace

FileBytes::FileBytes(std::string path) : path_(std::move(path)) {
  OpenedFile opened = open_regular_file(path_);
  if (!opened.fd) throw Error(ErrorCode::io, concat("cannot open ", path_, ": ", opened.problem));
  file_ = std::move(opened.fd);
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) fail(path_, "look at", errno);
  size_ = static_cast<std::uint64_t>(info.st_size);
}

void FileBytes::read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  if (!inside(offset, bytes, size_)) {
    throw Error(ErrorCode::io, concat("cannot read ", bytes, " bytes at ", offset, " of ", path_,
                                      ", which has ", size_));
  }
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::pread(file_.get(), out, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path_, "read", errno);
    if (n == 0) throw Error(ErrorCode::io, concat(path_, " became shorter while it was read"));
    out += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
}

void MemoryBytes::read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  if (!inside(offset, bytes, size())) {
    throw Error(ErrorCode::io, concat("cannot read ", bytes, " bytes at ", offset, " of ", size()));
  }
  if (bytes > 0) std::memcpy(to, bytes_.data() + offset, bytes);
}

std::string read_text(const ByteSource& source, std::uint64_t offset, std::uint64_t bytes) {
  std::string text(inside(offset, bytes, source.size()) ? bytes : 0, '\0');
  source.read(offset, text.data(), bytes);
  return text;
}

std::string printable(const std::string& name) {
  constexpr std::size_t kShown = 200;
  std::string text;
  for (const char c : name.substr(0, kShown)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (name.size() > kShown ? "..." : "");
}

std::string in_quotes(const std::string& name) { return "'" + printable(name) + "'"; }

}  // namespace bp::trainer
