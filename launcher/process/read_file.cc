#include "launcher/process/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/system/fd.h"

namespace bp::launcher {

namespace {

// room for hundreds of thousands of hosts
constexpr std::size_t kMostOfAFile = std::size_t{16} << 20;

}  // namespace

FileText read_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return {"", errno};
  }
  FileText result;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got > 0 && result.text.size() > kMostOfAFile) {
      return {"", EFBIG};
    }
    if (got > 0) {
      result.text.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      result.error = got == 0 ? 0 : errno;
      return result;
    }
  }
}

}  // namespace bp::launcher
