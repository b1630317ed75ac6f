#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace bp::test {

// A control group with a memory limit of 64 MiB, of version 1 or 2, if this machine allows making
// one.
class MemoryLimit {
 public:
  MemoryLimit() {
    if (!make("/sys/fs/cgroup/memory", "memory.limit_in_bytes")) {
      make("/sys/fs/cgroup", "memory.max");
    }
  }
  ~MemoryLimit() { remove(); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  [[nodiscard]] bool exists() const { return !group_.empty(); }
  // Returns the file to which a process writes its pid to join the group.
  [[nodiscard]] std::string members() const { return group_ / "cgroup.procs"; }

 private:
  bool make(const std::filesystem::path& hierarchy, const char* file) {
    std::error_code error;
    group_ = hierarchy / concat("bp-test-", ::getpid());
    std::filesystem::create_directory(group_, error);
    if (!error && std::filesystem::exists(group_ / file) &&
        std::ofstream(group_ / file) << "64M" << std::flush) {
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

}  // namespace bp::test
