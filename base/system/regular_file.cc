#include "base/system/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"

namespace bp {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

OpenedFile open_regular_file(const std::string& path) {
  OpenedFile file;
  // Without O_NONBLOCK the call waits for a process that writes to a named pipe.
  file.fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file.fd || ::fstat(file.fd.get(), &status) != 0) {
    file.error = errno;
    file.problem = error_text(file.error);
    file.fd.reset();
  } else if (!S_ISREG(status.st_mode)) {
    file.problem = concat("it is ", kind_of(status.st_mode), ", not a regular file");
    file.fd.reset();
  }
  return file;
}

FileContent read_whole(const OpenedFile& file, std::size_t most) {
  if (!file.fd) return {"", file.problem};
  FileContent content;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(file.fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {"", error_text(errno)};
    if (got == 0) return content;
    content.text.append(buffer.data(), static_cast<std::size_t>(got));
    if (content.text.size() > most) return {"", concat("it has no end within ", size_text(most))};
  }
}

}  // namespace bp
