#include "base/keys/secret_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/system/regular_file.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr std::size_t kLeastBytes = 16;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

[[noreturn]] void refuse_file(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, concat("the file ", why));
}

}  // namespace

std::string read_secret_file(const std::string& path) {
  const OpenedFile file = open_regular_file(path);
  struct stat status {};
  // The rule is ssh's. A file of another owner, such as a mounted secret of root, passes: this user
  // cannot change its mode.
  if (file.fd && ::fstat(file.fd.get(), &status) == 0 && status.st_uid == ::geteuid() &&
      (status.st_mode & 077U) != 0) {
    refuse_file(concat("can be read by others; chmod 600 ", path));
  }
  FileContent content = read_whole(file, kMostBytes);
  if (!content.problem.empty()) refuse_file(concat("cannot be read: ", content.problem));
  std::string secret = std::move(content.text);
  if (secret.size() < kLeastBytes) {
    refuse_file(concat("holds ", secret.size(), " bytes; a secret needs at least ", kLeastBytes));
  }
  return secret;
}

}  // namespace bp
