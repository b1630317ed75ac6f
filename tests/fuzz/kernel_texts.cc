// The kernel's texts about memory: a record of its log, a control group's counts, and the group and
// the mounts by which the counts are found. NUL separates the last two.
#include <algorithm>
#include <cstdlib>

#include "base/system/control_group.h"
#include "fuzz.h"
#include "launcher/process/oom_killer.h"

FUZZ_TARGET(kernel_texts) {
  using namespace bp::launcher;
  const std::string text = bp::test::text_of(data, size);
  const std::string word = explain_log_record(text, 4711);
  if (word.find('\n') != std::string::npos) std::abort();
  (void)oom_kills(text);
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::string mounts = text.substr(std::min(end + 1, text.size()));
  const auto folders = bp::group_folders("memory", text.substr(0, end), mounts);
  if (!folders.empty() && mounts.find("cgroup") == std::string::npos) std::abort();
  return 0;
}
