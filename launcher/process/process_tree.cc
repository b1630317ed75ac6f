#include "launcher/process/process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/system/fd.h"
#include "base/text.h"
#include "launcher/process/read_file.h"

namespace bp::launcher {
namespace {

// Returns the parent of a live process; nothing for a zombie or a process that has ended.
std::optional<pid_t> parent_of(pid_t pid) {
  const std::string stat = read_file(concat("/proc/", pid, "/stat")).text;
  // The format is "pid (name) state ppid ...". The name may contain blanks and parentheses, so
  // search from the end.
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos || name_end + 4 >= stat.size()) {
    return std::nullopt;
  }
  const char state = stat[name_end + 2];
  pid_t parent = 0;
  std::from_chars(stat.data() + name_end + 4, stat.data() + stat.size(), parent);
  return state == 'Z' || state == 'X' ? std::nullopt : std::optional(parent);
}

}  // namespace

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
    pid_t pid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, pid).ptr == end) {
      pids.push_back(pid);
    }
  }
  return pids;
}

std::vector<ProcessEntry> descendants_of(pid_t root) {
  std::unordered_multimap<pid_t, pid_t> children;
  for (const pid_t pid : all_processes()) {
    if (const auto parent = parent_of(pid)) {
      children.emplace(*parent, pid);
    }
  }
  std::vector<ProcessEntry> found{{.pid = root}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i].pid);
    for (auto child = first; child != last; ++child) {
      found.push_back({.pid = child->second, .parent = child->first});
    }
  }
  found.erase(found.begin());
  return found;
}

void signal_process(const ProcessEntry& process, int signal) {
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!handle) {
    return;  // the process has ended
  }
  // The handle refers to one process. That is the listed process if its parent is the listed one: a
  // reused number belongs to a child of another process. If its parent has ended, the orphan's
  // parent is this process.
  const auto parent = parent_of(process.pid);
  if (parent && (*parent == process.parent || *parent == ::getpid())) {
    ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
  }
}

bool has_environment_entry(pid_t pid, const char* entry) {
  const std::string environment = read_file(concat("/proc/", pid, "/environ")).text;
  const std::string wanted(entry);
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = environment.find('\0', at);
    if (std::string_view(environment).substr(at, end - at) == wanted) {
      return true;
    }
    at = end == std::string::npos ? environment.size() : end + 1;
  }
  return false;
}

void kill_orphans_of(const std::string& job) {
  siginfo_t ended{};
  if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return;  // without a child there is no need to read all processes of the machine in /proc
  }
  const std::string marker = concat("BP_JOB=", job);
  for (const ProcessEntry& process : descendants_of(::getpid())) {
    if (has_environment_entry(process.pid, marker.c_str())) {
      signal_process(process, SIGKILL);
    }
  }
}

}  // namespace bp::launcher
