#include "launcher/process/oom_killer.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "base/system/control_group.h"
#include "base/text.h"
#include "launcher/process/read_file.h"

namespace bp::launcher {
namespace {

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

OomKiller::OomKiller()
    : log_(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)),
      own_groups_(group_folders_of("self", "memory")) {
  if (log_) {
    ::lseek(log_.get(), 0, SEEK_END);
  }
  if (own_groups_.empty()) return;
  if (const auto kills = kills_in(own_groups_.front())) {
    known_[own_groups_.front()] = *kills;
  }
}

std::string OomKiller::explain_kill(pid_t pid) {
  if (std::string text = explanation_in_log(pid); !text.empty()) {
    return text;
  }
  // The process may have been moved to a group of its own. Version 1 does not show the group of a
  // process that has ended.
  const auto groups = group_folders_of(std::to_string(pid), "memory");
  std::string text = explanation_of_groups(groups);
  return text.empty() && groups != own_groups_ ? explanation_of_groups(own_groups_) : text;
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

// The innermost group counts the kill; the limit may be that of a group around it.
std::string OomKiller::explanation_of_groups(const std::vector<std::string>& folders) {
  const auto kills = folders.empty() ? std::nullopt : kills_in(folders.front());
  if (!kills || *kills <= known_[folders.front()]) {
    return "";
  }
  ++known_[folders.front()];  // further kills may belong to other ranks
  const auto memory = group_memory(folders);
  return concat("its control group ran out of memory, and the kernel killed a process of it",
                memory ? concat(" (limit ", memory->limit >> 20, " MiB)") : "");
}

}  // namespace bp::launcher
