#include "launcher/network/port_holder.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "launcher/process/process_owner.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/read_file.h"

namespace bp::launcher {
namespace {

constexpr std::string_view kListens = "0A";  // the state of a listening socket

// Returns the inode of the socket that listens on `port`, from a table of /proc/net; empty if there
// is none.
std::string inode_in(const char* table, int port) {
  std::istringstream lines(read_file(table).text);
  std::string line;
  std::getline(lines, line);  // skip the column names
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, word, inode;
    words >> number >> local >> remote >> state;
    for (int skipped = 0; skipped < 5; ++skipped) {
      words >> word;
    }
    words >> inode;
    const std::size_t colon = local.rfind(':');
    if (state == kListens && colon != std::string::npos &&
        std::strtol(local.c_str() + colon + 1, nullptr, 16) == port) {
      return inode;
    }
  }
  return "";
}

bool has_open(int pid, const std::string& target) {
  std::error_code error;
  std::filesystem::directory_iterator entry(concat("/proc/", pid, "/fd"), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry->path(), ignored) == target) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string port_holder(int port) {
  std::string inode = inode_in("/proc/net/tcp", port);
  if (inode.empty()) {
    inode = inode_in("/proc/net/tcp6", port);
  }
  if (inode.empty()) {
    return "";
  }
  for (const int pid : all_processes()) {
    if (has_open(pid, concat("socket:[", inode, "]"))) {
      const ProcessOwner owner = owner_of(pid);
      return concat("pid ", pid, " (", owner.user, ", ", owner.program, ")");
    }
  }
  return "a process of another user";
}

}  // namespace bp::launcher
