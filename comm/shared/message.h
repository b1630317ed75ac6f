// Messages over a Unix socket (SOCK_SEQPACKET), which may carry a file descriptor (SCM_RIGHTS).
#pragma once

#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/fd.h"

namespace bp {

struct NeighbourMessage {
  std::string text;
  Fd file;  // empty if none came, or if this process may open no more files
};

// `file`: -1 for none. Both throw io; receive_message() does so also if the peer has closed the
// socket, and throws timeout at the deadline.
void send_message(int socket, std::string_view text, int file = -1);
[[nodiscard]] NeighbourMessage receive_message(int socket, const Deadline& deadline);

}  // namespace bp
