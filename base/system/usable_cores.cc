#include "base/system/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/system/control_group.h"
#include "base/text.h"

namespace bp {
namespace {

std::optional<cpu_set_t> affinity_mask() {
  cpu_set_t mask;
  return ::sched_getaffinity(0, sizeof mask, &mask) == 0 ? std::optional(mask) : std::nullopt;
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Counts the groups of hardware threads that share a core.
int cores_of(const cpu_set_t& mask, const std::string& processors) {
  const int threads = CPU_COUNT(&mask);
  if (first_line_of(processors + "/smt/active") != "1") return threads;
  std::set<std::string> siblings;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &mask)) continue;
    siblings.insert(first_line_of(concat(processors, "/cpu", i, "/topology/thread_siblings_list")));
  }
  return siblings.contains("") ? threads : static_cast<int>(siblings.size());
}

int within(const std::optional<double>& quota, int number) {
  return std::max(1, quota ? static_cast<int>(std::min<double>(number, *quota)) : number);
}

}  // namespace

int UsableCores::concurrent() const { return within(quota, threads); }
int UsableCores::computing() const { return within(quota, cores); }

int usable_threads() {
  const auto mask = affinity_mask();
  return mask ? std::max(1, CPU_COUNT(&*mask)) : 1;
}

UsableCores usable_cores(const std::string& root) {
  const auto mask = affinity_mask();
  return {.threads = usable_threads(),
          .cores = mask ? std::max(1, cores_of(*mask, root + "/sys/devices/system/cpu")) : 1,
          .quota = cpu_quota(group_folders_of("self", "cpu", root))};
}

}  // namespace bp
