#include "trainer/report/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "bp/error.h"
#include "comm/base/fd.h"
#include "comm/base/text.h"

namespace bp::trainer {
namespace {

constexpr int kFileMode = 0644;

// False leaves errno saying why.
bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    content.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return ::fsync(fd) == 0;
}

}  // namespace

void write_whole_file(const std::string& path, std::string_view content) {
  const std::string part = path + ".part";
  const Fd file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
  if (!file) {
    throw Error(ErrorCode::io, concat("cannot create ", part, ": ", error_text(errno)));
  }
  if (!write_all(file.get(), content) || std::rename(part.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    ::unlink(part.c_str());
    throw Error(ErrorCode::io, concat("cannot write ", path, ": ", error_text(reason)));
  }
}

}  // namespace bp::trainer
