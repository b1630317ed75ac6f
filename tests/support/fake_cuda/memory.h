// The memory of the fake devices. A device's address has no access for the host: a program that
// reads or writes it is killed by SIGSEGV. The same pages are mapped a second time, where the
// fake's copies find them.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/clock.h"

namespace fake_cuda {

// A piece of work that reads or writes a range.
struct Access {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool writes = false;
  std::size_t stream = 0;
  std::uint64_t time = 0;  // of its stream
  std::string what = {};
};

class Memory {
 public:
  [[nodiscard]] void* allocate(std::size_t bytes);          // null: none left
  [[nodiscard]] void* allocate_on_host(std::size_t bytes);  // pinned
  [[nodiscard]] bool free(void* memory);                    // false: it was not allocated
  [[nodiscard]] bool free_on_host(void* memory);

  // Returns where the fake may touch the range, which is the range itself if it is the host's; null
  // if it begins in a device's memory and goes beyond.
  [[nodiscard]] void* reachable(const void* memory, std::size_t bytes);
  // Returns whether a copy from or to the range need not wait: it is a device's, or pinned.
  [[nodiscard]] bool is_asynchronous(const void* memory);
  [[nodiscard]] bool is_on_device(const void* memory);
  [[nodiscard]] std::size_t pinned();  // bytes

  // Ends the process with the two places if earlier work, not known to be done, touches the same
  // range, and one of the two writes.
  void check(const Access& access, const Clock& known);

 private:
  struct Block {
    std::size_t bytes = 0;
    char* reachable = nullptr;  // null: pinned host memory
  };
  [[nodiscard]] void* map(std::size_t bytes);
  // With the mutex held. The block that has the address, or end().
  std::map<std::uintptr_t, Block>::iterator find(const void* memory);
  void forget(std::uintptr_t begin, std::uintptr_t end);

  std::mutex mutex_;
  std::map<std::uintptr_t, Block> blocks_;
  std::size_t on_devices_ = 0;  // bytes
  std::vector<Access> accesses_;
};

}  // namespace fake_cuda
