// A command that a relay runs for a sweep.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/process/child.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/spawn.h"
#include "launcher/sweep/relay/pump.h"

namespace bp::launcher::sweep {

class RelayedCommand {
 public:
  struct Listener {
    std::function<void(std::string_view)> on_output;
    std::function<void(std::string_view)> on_errors;
    std::function<void(int code)> on_exit;  // the last call
  };

  // Starts /bin/sh -c `command`. Throws io if it cannot. `loop` must outlive this.
  RelayedCommand(EventLoop& loop, const std::string& command, Listener listener);
  ~RelayedCommand();  // closes its stdin, upon which an agent ends, and kills it a second later
  RelayedCommand(const RelayedCommand&) = delete;
  RelayedCommand& operator=(const RelayedCommand&) = delete;

  void input(std::string_view bytes);  // none: the end

 private:
  struct Pipes {
    Pipe input = make_pipe();
    Pipe output = make_pipe();
    Pipe errors = make_pipe();
  };
  RelayedCommand(EventLoop& loop, Pipes pipes, const std::string& command, Listener listener);
  void ended();

  EventLoop& loop_;
  Listener listener_;
  Child child_;
  int watched_;  // the child's descriptor; -1 once it has ended
  FdSink input_;
  FdSource output_;
  FdSource errors_;
};

}  // namespace bp::launcher::sweep
