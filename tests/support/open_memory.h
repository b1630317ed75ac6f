// Whether the kernel lets a process access the memory of another.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

namespace bp::test {

// Tries it on this process itself, which only a sandbox forbids.
[[nodiscard]] inline bool kernel_opens_memory() {
  char from = 1;
  char to = 0;
  const iovec here{.iov_base = &to, .iov_len = 1};
  const iovec there{.iov_base = &from, .iov_len = 1};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == 1;
}

}  // namespace bp::test
