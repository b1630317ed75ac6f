#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace bp::test {

// A control group of 64 MiB, of either generation, where this machine lets us make one.
class MemoryLimit {
 public:
  MemoryLimit() {
    if (!make("/sys/fs/cgroup/memory", "memory.limit_in_bytes"))
      make("/sys/fs/cgroup", "memory.max");
  }
  ~MemoryLimit() { remove(); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  [[nodiscard]] bool exists() const { return !group_.empty(); }
  // Where a process writes its number to come under it.
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
