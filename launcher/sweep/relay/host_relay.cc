#include "launcher/sweep/relay/host_relay.h"

#include <poll.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/quoted.h"
#include "base/system/usable_cores.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/channel.h"
#include "launcher/agent/link.h"
#include "launcher/process/child.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/pump.h"
#include "launcher/process/signals.h"
#include "launcher/protocol/hello.h"
#include "launcher/report/exit_code.h"
#include "launcher/sweep/relay/relay_frame.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::chrono::seconds kToEnd{1};  // for an agent, once its connection is closed

// A command that a relay runs for a sweep.
class RelayedCommand {
 public:
  struct Listener {
    std::function<void(std::string_view)> on_output;
    std::function<void(std::string_view)> on_errors;
    std::function<void(int code)> on_exit;  // the last call
  };

  // Starts /bin/sh -c `command`. Throws io if it cannot. `loop` must outlive this.
  RelayedCommand(EventLoop& loop, const std::string& command, Listener listener)
      : RelayedCommand(loop, start_piped({"/bin/sh", "-c", command}, false), std::move(listener)) {}
  ~RelayedCommand();  // closes its stdin, upon which an agent ends, and kills it a second later
  RelayedCommand(const RelayedCommand&) = delete;
  RelayedCommand& operator=(const RelayedCommand&) = delete;

  void input(std::string_view bytes);  // none: the end

 private:
  RelayedCommand(EventLoop& loop, PipedProcess started, Listener listener);
  void ended();

  EventLoop& loop_;
  Listener listener_;
  Child child_;
  int watched_;  // the child's descriptor; -1 once it has ended
  FdSink input_;
  FdSource output_;
  FdSource errors_;
};

RelayedCommand::RelayedCommand(EventLoop& loop, PipedProcess started, Listener listener)
    : loop_(loop),
      listener_(std::move(listener)),
      child_(std::move(started.child)),
      watched_(child_.fd()),
      input_(loop, std::move(started.to_it)),
      output_(loop,
              std::move(started.from_it),
              [this](std::string_view bytes) {
                if (!bytes.empty()) listener_.on_output(bytes);
              }),
      errors_(loop, std::move(started.errors), [this](std::string_view bytes) {
        if (!bytes.empty()) listener_.on_errors(bytes);
      }) {
  loop_.watch(watched_, POLLIN, [this](short) { ended(); });
}

RelayedCommand::~RelayedCommand() {
  input_.close();
  if (watched_ >= 0) {
    loop_.forget(watched_);
    static_cast<void>(child_.wait(Deadline(kToEnd)));
  }
}

void RelayedCommand::input(std::string_view bytes) {
  bytes.empty() ? input_.close_when_written() : input_.write(bytes);
}

void RelayedCommand::ended() {
  const auto status = child_.wait(Deadline(std::chrono::milliseconds{0}));
  if (!status) {
    return;
  }
  loop_.forget(std::exchange(watched_, -1));
  output_.drain();
  errors_.drain();
  const auto on_exit = listener_.on_exit;  // the callee destroys this
  on_exit(WIFEXITED(*status) ? WEXITSTATUS(*status) : kExitSignal + WTERMSIG(*status));
}

class HostRelay {
 public:
  explicit HostRelay(Channel::Ends ends)
      : channel_(loop_,
                 std::move(ends),
                 {[this](const Frame& frame) { handle(decode_relay_frame(frame)); },
                  [this](const std::string&) { closed_ = true; }}) {}

  void run() {
    channel_.send(std::string(kAgentMagic) +
                  encode({RelayType::hello, static_cast<std::uint32_t>(usable_cores().computing()),
                          own_build()}));
    while (!closed_) {
      loop_.run_once();
      ended_.clear();
    }
  }

 private:
  void send(const RelayFrame& frame) { channel_.send(encode(frame)); }
  void exited(std::uint32_t number, int code);
  void open(std::uint32_t number, const std::string& command);
  void handle(const RelayFrame& frame);

  EventLoop loop_;
  Channel channel_;
  std::map<std::uint32_t, std::unique_ptr<RelayedCommand>> commands_;
  // A command calls back from within itself when it ends, so it is destroyed later.
  std::vector<std::unique_ptr<RelayedCommand>> ended_;
  bool closed_ = false;
};

void HostRelay::exited(std::uint32_t number, int code) {
  send({RelayType::exited, number, std::to_string(code)});
  if (auto found = commands_.extract(number)) {
    ended_.push_back(std::move(found.mapped()));
  }
}

void HostRelay::open(std::uint32_t number, const std::string& command) {
  try {
    commands_[number] = std::make_unique<RelayedCommand>(
        loop_, command,
        RelayedCommand::Listener{.on_output =
                                     [this, number](std::string_view bytes) {
                                       send({RelayType::output, number, bytes});
                                     },
                                 .on_errors =
                                     [this, number](std::string_view bytes) {
                                       send({RelayType::errors, number, bytes});
                                     },
                                 .on_exit = [this, number](int code) { exited(number, code); }});
  } catch (const Error& error) {
    send({RelayType::errors, number, concat(error.what(), "\n")});
    exited(number, kExitInternal);
  }
}

void HostRelay::handle(const RelayFrame& frame) {
  if (frame.type == RelayType::open) {
    open(frame.command, std::string(frame.bytes));
    return;
  }
  const auto found = commands_.find(frame.command);
  if (found == commands_.end()) {
    return;  // it has ended in the meantime
  }
  if (frame.type == RelayType::input) {
    found->second->input(frame.bytes);
  } else if (frame.type == RelayType::hang_up) {
    commands_.erase(found);
  }
}

}  // namespace

int host_relay_main() {
  try {
    ignore_broken_pipes();
    HostRelay(standard_ends()).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bprun sweep: %s\n", printable(error.what()).c_str());
    return kExitInternal;
  }
}

}  // namespace bp::launcher::sweep
