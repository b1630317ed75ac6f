// Gloo makes the descriptor of its event loop without close-on-exec, so programs that a rank
// executes would inherit it. The plugin's symbols come first for Gloo (allocator.cc).
#include <sys/epoll.h>

#pragma GCC visibility push(default)
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the system's has another
extern "C" int epoll_create(int /*size*/) noexcept { return ::epoll_create1(EPOLL_CLOEXEC); }
#pragma GCC visibility pop
