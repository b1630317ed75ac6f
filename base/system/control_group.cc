#include "base/system/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace bp {
namespace {

// version 1 writes a number near the largest where there is no limit
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

bool has_word(std::string_view list, std::string_view word) {
  return concat(",", list, ",").find(concat(",", word, ",")) != std::string::npos;
}

struct GroupMount {
  std::string root;  // the part of the hierarchy that is mounted
  std::string folder;
};

// Finds the mount of the version 2 hierarchy, or of the version 1 hierarchy with the controller.
std::optional<GroupMount> find_mount(std::string_view mounts,
                                     std::string_view controller,
                                     bool version2) {
  std::istringstream lines{std::string(mounts)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash));
    std::istringstream right(line.substr(dash + 3));
    std::string skipped;
    GroupMount mount;
    left >> skipped >> skipped >> skipped >> mount.root >> mount.folder;
    std::string type;
    std::string options;
    right >> type >> skipped >> options;
    if (version2 ? type == "cgroup2" : type == "cgroup" && has_word(options, controller)) {
      return mount;
    }
  }
  return std::nullopt;
}

std::vector<std::string> folders_in(const GroupMount& mount, std::string path) {
  if (mount.root != "/" && (path == mount.root || path.starts_with(mount.root + "/"))) {
    path.erase(0, mount.root.size());
  }
  std::vector<std::string> folders;
  while (path.size() > 1) {
    folders.push_back(mount.folder + path);
    const std::size_t slash = path.rfind('/');
    path.erase(slash == std::string::npos ? 0 : slash);
  }
  folders.push_back(mount.folder);
  return folders;
}

std::string text_below(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the number with which the file begins; nothing for "max", "-1" and without the file.
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (!(file >> number) || number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

// Returns the number behind `key` in a file with a key and a number on each line, or 0.
std::uint64_t number_behind(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  for (std::string word; file >> word >> number;) {
    if (word == key) return number;
  }
  return 0;
}

// How a version spells the same things.
struct MemoryFiles {
  const char* limit;
  const char* used;
  const char* cached;
};
constexpr MemoryFiles kMemoryFiles[] = {
    {"/memory.max", "/memory.current", "inactive_file"},
    {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"}};

std::optional<GroupMemory> memory_in(const std::string& folder) {
  for (const MemoryFiles& files : kMemoryFiles) {
    const auto limit = number_in(folder + files.limit);
    if (!limit || *limit >= kNoLimit) continue;
    const std::uint64_t used = number_in(folder + files.used).value_or(0);
    const std::uint64_t cached = number_behind(folder + "/memory.stat", files.cached);
    return GroupMemory{.limit = *limit, .used = used - std::min(used, cached)};
  }
  return std::nullopt;
}

// Version 2 has the quota and the period in one file.
std::optional<double> quota_in(const std::string& folder) {
  std::ifstream both(folder + "/cpu.max");
  double quota = 0;
  double period = 0;
  if (!(both >> quota >> period)) {
    quota = static_cast<double>(number_in(folder + "/cpu.cfs_quota_us").value_or(0));
    period = static_cast<double>(number_in(folder + "/cpu.cfs_period_us").value_or(0));
  }
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

}  // namespace

std::vector<std::string> group_folders(std::string_view controller,
                                       std::string_view membership,
                                       std::string_view mounts) {
  // A version 1 hierarchy with the controller takes precedence: version 2 then does not have it.
  std::istringstream lines{std::string(membership)};
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version2 = controllers.empty();
    if (!version2 && !has_word(controllers, controller)) continue;
    const auto mount = find_mount(mounts, controller, version2);
    if (mount && (found.empty() || !version2)) found = folders_in(*mount, line.substr(second + 1));
  }
  return found;
}

std::vector<std::string> group_folders_of(std::string_view process,
                                          std::string_view controller,
                                          const std::string& root) {
  std::vector<std::string> folders =
      group_folders(controller, text_below(concat(root, "/proc/", process, "/cgroup")),
                    text_below(root + "/proc/self/mountinfo"));
  for (std::string& folder : folders) folder.insert(0, root);
  return folders;
}

std::optional<GroupMemory> group_memory(const std::vector<std::string>& folders) {
  std::optional<GroupMemory> lowest;
  for (const std::string& folder : folders) {
    const auto memory = memory_in(folder);
    if (memory && (!lowest || memory->limit < lowest->limit)) lowest = memory;
  }
  return lowest;
}

std::optional<double> cpu_quota(const std::vector<std::string>& folders) {
  std::optional<double> lowest;
  for (const std::string& folder : folders) {
    const auto quota = quota_in(folder);
    if (quota && (!lowest || *quota < *lowest)) lowest = quota;
  }
  return lowest;
}

}  // namespace bp
