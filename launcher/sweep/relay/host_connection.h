// The sweep's one connection to a host: the ssh (or srun) that runs the relay there, and the
// commands that run through it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/agent/channel.h"
#include "launcher/process/child.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/pump.h"
#include "launcher/sweep/relay/passed_streams.h"
#include "launcher/sweep/relay/relay_frame.h"

namespace bp::launcher::sweep {

class HostConnection {
 public:
  struct Listener {
    std::function<void(int cores)> on_ready;
    // The last call. It must not destroy the connection.
    std::function<void(const std::string& why)> on_lost;
  };

  // Starts `command`, which must run the relay on the host within `limit`. `loop` must outlive
  // this. Throws io if the command cannot be started.
  HostConnection(EventLoop& loop,
                 const std::vector<std::string>& command,
                 std::chrono::milliseconds limit,
                 Listener listener);
  ~HostConnection();  // hangs up all commands and ends the relay
  HostConnection(const HostConnection&) = delete;
  HostConnection& operator=(const HostConnection&) = delete;

  [[nodiscard]] bool ready() const { return ready_; }
  // Runs a command with these streams. `on_exit` gets its exit code once, or 255 if the connection
  // is lost. Returns its number, for hang_up().
  std::uint32_t open(PassedStreams streams, std::function<void(int code)> on_exit);
  // The process that wanted the command has gone.
  void hang_up(std::uint32_t number);

 private:
  struct Command;
  void handle(const RelayFrame& frame);
  void hello(const RelayFrame& frame);
  void read_errors(std::string_view bytes);
  void lose(const std::string& why);
  void end(std::uint32_t number, int code);

  EventLoop& loop_;
  Listener listener_;
  bool ready_ = false;
  bool lost_ = false;
  std::string error_text_;
  std::map<std::uint32_t, std::unique_ptr<Command>> commands_;
  std::vector<std::unique_ptr<Command>> ended_;  // whose last bytes have not been written yet
  std::uint32_t next_ = 1;
  EventLoop::TimerId timer_ = 0;
  std::unique_ptr<Child> child_;
  std::unique_ptr<FdSource> errors_;
  std::unique_ptr<Channel> channel_;
};

}  // namespace bp::launcher::sweep
