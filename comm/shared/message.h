// Messages over a Unix socket of kind SOCK_SEQPACKET, with a file descriptor on top (SCM_RIGHTS).
#pragma once

#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/fd.h"

namespace bp {

struct NeighbourMessage {
  std::string text;
  Fd file;  // empty where none came, or this process may have no more
};

// `file`: -1 for none. Both throw io; receive_message() also where the other has gone, and timeout.
void send_message(int socket, std::string_view text, int file = -1);
[[nodiscard]] NeighbourMessage receive_message(int socket, const Deadline& deadline);

}  // namespace bp
