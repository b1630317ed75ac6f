#include "launcher/process/oom_killer.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "launcher/process/read_file.h"

namespace bp::launcher {
namespace {

// version 1 writes a number near the largest when there is no limit
constexpr long kNoLimit = 1L << 60;

// Returns the number after `key` in `text`.
std::optional<long> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = text.substr(at + key.size());
  long number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

bool has_word(std::string_view list, std::string_view word) {
  const std::string wrapped = concat(",", list, ",");
  return wrapped.find(concat(",", word, ",")) != std::string::npos;
}

struct Mount {
  std::string root;  // the part of the hierarchy that is mounted
  std::string folder;
};

// Finds the mount of the version 2 hierarchy, or of the version 1 hierarchy with the memory
// controller.
std::optional<Mount> find_mount(std::string_view mounts, bool version2) {
  std::istringstream lines{std::string(mounts)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) {
      continue;
    }
    std::istringstream left(line.substr(0, dash));
    std::istringstream right(line.substr(dash + 3));
    std::string skipped;
    Mount mount;
    left >> skipped >> skipped >> skipped >> mount.root >> mount.folder;
    std::string type;
    std::string options;
    right >> type >> skipped >> options;
    if (version2 ? type == "cgroup2" : type == "cgroup" && has_word(options, "memory")) {
      return mount;
    }
  }
  return std::nullopt;
}

std::string folder_in(const Mount& mount, std::string_view path) {
  if (mount.root != "/" && path.starts_with(mount.root)) {
    path.remove_prefix(mount.root.size());
  }
  return concat(mount.folder, path == "/" ? "" : path);
}

// Returns the text of the first of these files that exists in the group's folder.
std::string first_of(const std::string& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (FileText file = read_file(concat(folder, "/", name)); file.error == 0) {
      return std::move(file.text);
    }
  }
  return "";
}

std::optional<long> kills_in(const std::string& folder) {
  return oom_kills(first_of(folder, {"memory.events", "memory.oom_control"}));
}

std::string group_of(const std::string& process) {
  return memory_group(read_file(concat("/proc/", process, "/cgroup")).text,
                      read_file("/proc/self/mountinfo").text);
}

}  // namespace

std::string explain_log_record(std::string_view record, pid_t pid) {
  if (record.find(concat("Killed process ", pid, " (")) == std::string_view::npos) {
    return "";
  }
  const bool group = record.find("emory cgroup out of memory") != std::string_view::npos;
  const auto held = number_after(record, "anon-rss:");
  return concat("the kernel killed it because ", group ? "its control group" : "the host",
                " is out of memory", held ? concat("; it held ", *held / 1024, " MiB") : "");
}

std::optional<long> oom_kills(std::string_view text) {
  return number_after(concat("\n", text), "\noom_kill ");
}

std::string memory_group(std::string_view membership, std::string_view mounts) {
  // A version 1 hierarchy with the memory controller takes precedence: version 2 then does not have
  // that controller.
  std::istringstream lines{std::string(membership)};
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version2 = controllers.empty();
    if (!version2 && !has_word(controllers, "memory")) {
      continue;
    }
    if (const auto mount = find_mount(mounts, version2); mount && (found.empty() || !version2)) {
      found = folder_in(*mount, std::string_view(line).substr(second + 1));
    }
  }
  return found;
}

OomKiller::OomKiller()
    : log_(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)), own_group_(group_of("self")) {
  if (log_) {
    ::lseek(log_.get(), 0, SEEK_END);
  }
  if (const auto kills = kills_in(own_group_)) {
    known_[own_group_] = *kills;
  }
}

std::string OomKiller::explain_kill(pid_t pid) {
  if (std::string text = explanation_in_log(pid); !text.empty()) {
    return text;
  }
  // The process may have been moved to a group of its own. Version 1 does not show the group of a
  // process that has ended.
  const std::string group = group_of(std::to_string(pid));
  std::string text = explanation_of_group(group);
  return text.empty() && group != own_group_ ? explanation_of_group(own_group_) : text;
}

// Each read() returns one record.
void OomKiller::read_log() {
  std::array<char, 8192> record;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (log_) {
    const ssize_t got = ::read(log_.get(), record.data(), record.size());
    if (got < 0 && (errno == EPIPE || errno == EINTR)) {
      continue;  // EPIPE: records were overwritten before they were read
    }
    if (got <= 0) {
      return;
    }
    const std::string_view text(record.data(), static_cast<std::size_t>(got));
    if (text.find("Killed process ") != std::string_view::npos) {
      records_.emplace_back(text);
    }
  }
}

std::string OomKiller::explanation_in_log(pid_t pid) {
  read_log();
  std::string text;
  for (const std::string& record : records_) {
    text = text.empty() ? explain_log_record(record, pid) : text;
  }
  return text;
}

std::string OomKiller::explanation_of_group(const std::string& folder) {
  const auto kills = kills_in(folder);
  if (!kills || *kills <= known_[folder]) {
    return "";
  }
  ++known_[folder];  // further kills may belong to other ranks
  const auto limit =
      number_after(concat(" ", first_of(folder, {"memory.max", "memory.limit_in_bytes"})), " ");
  const bool limited = limit && *limit < kNoLimit;
  return concat("its control group ran out of memory, and the kernel killed a process of it",
                limited ? concat(" (limit ", *limit >> 20, " MiB)") : "");
}

}  // namespace bp::launcher
