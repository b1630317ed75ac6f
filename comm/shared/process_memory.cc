#include "comm/shared/process_memory.h"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "comm/transport/transport.h"

namespace bp {
namespace {

std::uint64_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

iovec part(std::uint64_t address, std::size_t bytes) {
  return {.iov_base = reinterpret_cast<void*>(address), .iov_len = bytes};
}

using Call = decltype(&::process_vm_readv);  // process_vm_writev has the same type

// Carries out `call`, which may end early: every transfer of more than 2 GiB does. `access`: what
// it does, for the error.
void transfer(Call call,
              const char* access,
              pid_t process,
              std::uint64_t here,
              std::uint64_t there,
              std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const iovec own = part(here + done, bytes - done);
    const iovec theirs = part(there + done, bytes - done);
    const ssize_t more = call(process, &own, 1, &theirs, 1, 0);
    if (more < 0 && errno == ESRCH) {
      throw TransportFailure(ErrorCode::peer_lost, "its process has ended");
    }
    if (more < 0) {
      throw TransportFailure(ErrorCode::io,
                             concat("cannot ", access, " its memory: ", error_text(errno)));
    }
    done += static_cast<std::size_t>(more);
  }
}

}  // namespace

bool ProcessMemory::can_read(const Sample& sample) const {
  std::uint64_t value = ~sample.value;
  const iovec here = part(address_of(&value), sizeof value);
  const iovec there = part(sample.address, sizeof value);
  return process_ != 0 && ::process_vm_readv(process_, &here, 1, &there, 1, 0) == sizeof value &&
         value == sample.value;
}

void ProcessMemory::read(std::byte* to, std::uint64_t from, std::size_t bytes) const {
  transfer(&::process_vm_readv, "read", process_, address_of(to), from, bytes);
}

void ProcessMemory::write(std::uint64_t to, const std::byte* from, std::size_t bytes) const {
  transfer(&::process_vm_writev, "write to", process_, address_of(from), to, bytes);
}

void allow_siblings_access() {
  const pid_t parent = ::getppid();
  constexpr pid_t kInit = 1;  // the ancestor of every process
  if (parent > kInit) (void)::prctl(PR_SET_PTRACER, static_cast<unsigned long>(parent), 0, 0, 0);
}

}  // namespace bp
