// Gloo asks who is at the other end of a connection it has just taken, in the thread that serves
// all of them, and throws where the kernel does not know any more: the connection was reset
// meanwhile, as by a rank that died or ran out of descriptors. Nobody catches there, so the process
// would end by SIGABRT. The plugin's symbols come first for Gloo (../gloo.h), so it gets ours: no
// name, and the connection's next read says what happened to it.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#pragma GCC visibility push(default)
extern "C" int getpeername(int fd, sockaddr* address, socklen_t* size) noexcept {
  if (::syscall(SYS_getpeername, fd, address, size) == 0) return 0;
  if (errno != ENOTCONN) return -1;
  *size = std::min<socklen_t>(*size, sizeof(sockaddr));
  return ::getsockname(fd, address, size);
}
#pragma GCC visibility pop
