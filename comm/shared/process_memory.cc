#include "comm/shared/process_memory.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "comm/transport/transport.h"

namespace bp {
namespace {

iovec part(std::uint64_t address, std::size_t bytes) {
  return {.iov_base = reinterpret_cast<void*>(address), .iov_len = bytes};
}
iovec part(const std::byte* data, std::size_t bytes) {
  return part(reinterpret_cast<std::uintptr_t>(data), bytes);
}

[[noreturn]] void cannot(const char* access) {
  if (errno == ESRCH) throw TransportFailure(ErrorCode::peer_lost, "its process has ended");
  throw TransportFailure(ErrorCode::io,
                         concat("cannot ", access, " its memory: ", error_text(errno)));
}

}  // namespace

ProcessMemory ProcessMemory::behind(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return ProcessMemory(peer.pid);
}

bool ProcessMemory::can_read(const Sample& sample) const {
  std::uint64_t value = ~sample.value;
  const iovec here{.iov_base = &value, .iov_len = sizeof value};
  const iovec there = part(sample.address, sizeof value);
  return process_ != 0 && ::process_vm_readv(process_, &here, 1, &there, 1, 0) == sizeof value &&
         value == sample.value;
}

// A call may end early, as every transfer of more than 2 GiB does.
void ProcessMemory::read(std::byte* to, std::uint64_t from, std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes;) {
    const iovec here = part(to + done, bytes - done);
    const iovec there = part(from + done, bytes - done);
    const ssize_t more = ::process_vm_readv(process_, &here, 1, &there, 1, 0);
    if (more < 0) cannot("read");
    done += static_cast<std::size_t>(more);
  }
}

void ProcessMemory::write(std::uint64_t to, const std::byte* from, std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes;) {
    const iovec here = part(from + done, bytes - done);
    const iovec there = part(to + done, bytes - done);
    const ssize_t more = ::process_vm_writev(process_, &here, 1, &there, 1, 0);
    if (more < 0) cannot("write to");
    done += static_cast<std::size_t>(more);
  }
}

void allow_siblings_access() {
  const pid_t parent = ::getppid();
  constexpr pid_t kInit = 1;  // the ancestor of every process
  if (parent > kInit) (void)::prctl(PR_SET_PTRACER, static_cast<unsigned long>(parent), 0, 0, 0);
}

}  // namespace bp
