#include "base/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr std::size_t kLeastBytes = 16;
constexpr std::size_t kMostSecret = std::size_t{1} << 20;  // /dev/urandom has no end

[[noreturn]] void refuse_file(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, concat("the file ", why));
}

}  // namespace

std::string read_secret_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    refuse_file(concat("cannot be read: ", error_text(errno)));
  }
  // The rule is ssh's. A file of another owner, such as a mounted secret of root, passes: this user
  // cannot change its mode.
  if (status.st_uid == ::geteuid() && (status.st_mode & 077U) != 0) {
    refuse_file(concat("can be read by others; chmod 600 ", path));
  }
  std::string secret;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while ((got = ::read(file.get(), buffer.data(), buffer.size())) > 0) {
    secret.append(buffer.data(), static_cast<std::size_t>(got));
    if (secret.size() > kMostSecret) refuse_file("has no end within 1 MiB");
  }
  if (got < 0) refuse_file(concat("cannot be read: ", error_text(errno)));
  if (secret.size() < kLeastBytes) {
    refuse_file(concat("holds ", secret.size(), " bytes; a secret needs at least ", kLeastBytes));
  }
  return secret;
}

}  // namespace bp
