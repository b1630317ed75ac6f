// The memory of another process on this host, which this process reads and writes by system calls.
// The kernel may forbid that: in many containers, for processes of other users, and with Yama's
// default (kernel.yama.ptrace_scope = 1) for processes that do not allow it.
//
// Threads: any.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace bp {

class ProcessMemory {
 public:
  // A word that a process shows to others, so that they can find out whether they can read it.
  struct Sample {
    std::uint64_t address = 0;
    std::uint64_t value = 0;
  };

  ProcessMemory() = default;  // of no process
  explicit ProcessMemory(pid_t process) : process_(process) {}
  [[nodiscard]] bool can_read(const Sample& sample) const;
  // Both throw TransportFailure: peer_lost if the process has ended, else io.
  void read(std::byte* to, std::uint64_t from, std::size_t bytes) const;
  void write(std::uint64_t to, const std::byte* from, std::size_t bytes) const;

 private:
  pid_t process_ = 0;
};

// Allows the processes that this process's parent has started, and their children, to access the
// memory of this process. Only Yama asks for it.
void allow_siblings_access();

}  // namespace bp
