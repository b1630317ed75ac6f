#include "launcher/process/process_owner.h"

#include <pwd.h>
#include <sys/stat.h>

#include <array>
#include <utility>

#include "base/text.h"
#include "launcher/process/read_file.h"

namespace bp::launcher {
namespace {

std::string user_name(uid_t user) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : concat("user ", user);
}

}  // namespace

ProcessOwner owner_of(int pid) {
  struct stat status {};
  const std::string folder = concat("/proc/", pid);
  if (::stat(folder.c_str(), &status) != 0) {
    return {};
  }
  std::string program = read_file(folder + "/comm").text;
  while (!program.empty() && program.back() == '\n') {
    program.pop_back();
  }
  return {.user = user_name(status.st_uid), .program = std::move(program)};
}

}  // namespace bp::launcher
