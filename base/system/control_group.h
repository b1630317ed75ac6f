// The control groups (cgroups) in which the kernel limits the memory and the CPU time of a process.
// A group's limit also holds for the groups inside it. Version 1 mounts each controller as a
// hierarchy of its own, version 2 has one hierarchy for all, and a machine may have both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bp {

// Returns the folders of the process's groups with this controller ("memory", "cpu"): its own
// group, then each group around it as far as a mount shows them. `membership` is the text of
// /proc/PID/cgroup and `mounts` that of /proc/PID/mountinfo. Empty if there is no such group. A
// folder may not exist where the two texts are of different namespaces.
[[nodiscard]] std::vector<std::string> group_folders(std::string_view controller,
                                                     std::string_view membership,
                                                     std::string_view mounts);

// Reads the two texts below `root` (tests have a tree of files of their own), and puts `root` in
// front of the folders. `process` is "self" or a process id.
[[nodiscard]] std::vector<std::string> group_folders_of(std::string_view process,
                                                        std::string_view controller,
                                                        const std::string& root = "");

// A group with a memory limit, in bytes.
struct GroupMemory {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;  // without the pages of files that the kernel can take back
};
// Returns the group with the lowest limit; nothing if none of these groups has one.
[[nodiscard]] std::optional<GroupMemory> group_memory(const std::vector<std::string>& folders);

// Returns how many hardware threads' time these groups may use, 0.5 for half of one: the lowest of
// their quotas; nothing if none has one.
[[nodiscard]] std::optional<double> cpu_quota(const std::vector<std::string>& folders);

}  // namespace bp
