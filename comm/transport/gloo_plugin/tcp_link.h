// Asks Linux about a TCP connection. In a file of its own, because <linux/tcp.h> and
// <netinet/tcp.h> exclude each other, and only the former counts acknowledged bytes.
#pragma once

#include "comm/transport/gloo_plugin/function_table.h"

namespace bp::gloo_plugin {

// Makes the kernel ask the peer's kernel for a sign of life when the connection is idle. That keeps
// firewalls and NAT from forgetting the connection, and shows when one has. A stopped process
// counts as alive. The kernel gives up only after six minutes, because operations have deadlines of
// their own.
void keep_alive(int fd);

[[nodiscard]] LinkState link_state(int fd);

}  // namespace bp::gloo_plugin
