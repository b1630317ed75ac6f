#include "trainer/train/watch/memory_watch.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

#include "base/system/control_group.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kHundred = 100;

// Returns the number of bytes behind `key` in /proc/meminfo, or 0.
std::uint64_t machine_bytes(std::string_view key) {
  std::ifstream file("/proc/meminfo");
  std::uint64_t value = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t digit = line.find_first_of("0123456789", key.size());
    if (digit == std::string::npos) continue;
    std::from_chars(line.data() + digit, line.data() + line.size(), value);
    return value * kKib;
  }
  return 0;
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

MemoryUse machine_memory() {
  MemoryUse use{.process = resident_bytes()};
  use.limit = machine_bytes("MemTotal:");
  use.used = use.limit - machine_bytes("MemAvailable:");
  return use;
}

MemoryUse memory_use() {
  const MemoryUse use = machine_memory();
  const auto group = group_memory(group_folders_of("self", "memory"));
  if (!group || group->limit >= use.limit) return use;
  return {.process = use.process, .used = group->used, .limit = group->limit};
}

bool MemoryWatch::grows() const {
  if (seen_.size() <= kWindows) return false;
  return std::ranges::adjacent_find(seen_, [](const Seen& before, const Seen& after) {
           return after.process < before.process + before.process / kHundred;
         }) == seen_.end();
}

std::string MemoryWatch::look(std::int64_t step, const MemoryUse& use) {
  if (use.process == 0) return "";
  seen_.push_back({step, use.process});
  if (seen_.size() > kWindows + 1) seen_.pop_front();
  const std::string used =
      use.limit == 0 ? ""
                     : concat(size_text(use.used), " of ", size_text(use.limit), " are in use");
  if (!told_full_ && use.limit > 0 && use.used >= use.limit / kHundred * kFull) {
    told_full_ = true;
    return concat("memory is nearly full at step ", step, ": ", used, ", ", size_text(use.process),
                  " by this rank; try fewer ranks on this host or a smaller --batch with "
                  "--accumulate");
  }
  if (told_growth_ || !grows()) return "";
  told_growth_ = true;
  const Seen& first = seen_.front();
  const std::uint64_t each =
      (use.process - first.process) / static_cast<std::uint64_t>(step - first.step);
  const std::uint64_t left = use.limit > use.used ? use.limit - use.used : 0;
  return concat("the memory of this rank grows: ", size_text(first.process), " at step ",
                first.step, ", ", size_text(use.process), " at step ", step, " (", size_text(each),
                " a step)", used.empty() ? "" : "; " + used,
                used.empty() || each == 0 ? ""
                                          : concat(", which would be full at about step ",
                                                   step + static_cast<std::int64_t>(left / each)));
}

}  // namespace bp::trainer
