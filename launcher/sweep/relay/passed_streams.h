// Passes the standard streams of `bprun-sweep --through` to the sweep over a Unix socket, as ssh
// does for its ControlMaster.
#pragma once

#include <optional>
#include <string>

#include "base/system/fd.h"

namespace bp::launcher::sweep {

struct PassedStreams {
  std::string host;     // as the sweep knows it
  std::string command;  // for the host's shell
  Fd input;
  Fd output;
  Fd errors;
};

// Sends the host, the command and this process's three standard streams. Returns false if the other
// end has gone.
[[nodiscard]] bool pass_streams(int socket, const std::string& host, const std::string& command);

// Reads one such message, which must have arrived. Returns nothing if it is incomplete.
[[nodiscard]] std::optional<PassedStreams> receive_streams(int socket);

// What `bprun-sweep --through SOCKET [-p PORT] [-l USER] HOST COMMAND` does: runs the command on
// the host through the sweep's one connection to it. Blocks until the command ends. Returns its
// exit code; 255, as ssh does, if the connection was lost.
[[nodiscard]] int through_main(const std::string& socket_path,
                               const std::string& host,
                               const std::string& command);

}  // namespace bp::launcher::sweep
