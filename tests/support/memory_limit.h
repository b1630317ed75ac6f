#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace bp::test {

// A control group with a limit, of version 1 or 2, if this machine allows making one.
class LimitedGroup {
 public:
  ~LimitedGroup() { remove(); }
  LimitedGroup(const LimitedGroup&) = delete;
  LimitedGroup& operator=(const LimitedGroup&) = delete;

  [[nodiscard]] bool exists() const { return !group_.empty(); }
  // Returns the file to which a process writes its pid to join the group.
  [[nodiscard]] std::string members() const { return group_ / "cgroup.procs"; }

 protected:
  struct Way {
    std::filesystem::path hierarchy;
    const char* file;
    std::string limit;
  };
  // `name` distinguishes the groups of a test.
  LimitedGroup(std::initializer_list<Way> ways, const std::string& name = "") {
    for (const Way& way : ways) {
      if (make(way, name)) return;
    }
  }

 private:
  bool make(const Way& way, const std::string& name) {
    std::error_code error;
    group_ = way.hierarchy / concat("bp-test-", ::getpid(), name);
    std::filesystem::create_directory(group_, error);
    if (!error && std::filesystem::exists(group_ / way.file) &&
        std::ofstream(group_ / way.file) << way.limit << std::flush) {
      return true;
    }
    remove();
    return false;
  }
  void remove() {
    std::error_code error;
    std::filesystem::remove(std::exchange(group_, {}), error);
  }

  std::filesystem::path group_;
};

class MemoryLimit : public LimitedGroup {
 public:
  explicit MemoryLimit(int mebibytes = 64, const std::string& name = "")
      : LimitedGroup({{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", concat(mebibytes, "M")},
                      {"/sys/fs/cgroup", "memory.max", concat(mebibytes, "M")}},
                     name) {}
};

// the time of one hardware thread and a half
class CpuLimit : public LimitedGroup {
 public:
  CpuLimit()
      : LimitedGroup{{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "150000"},
                     {"/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "150000"},
                     {"/sys/fs/cgroup", "cpu.max", "150000 100000"}} {}
};

}  // namespace bp::test
