#include "launcher/sweep/relay/host_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/quoted.h"
#include "base/text.h"
#include "base/usable_cores.h"
#include "bp/error.h"
#include "launcher/agent/channel.h"
#include "launcher/process/signals.h"
#include "launcher/protocol/hello.h"
#include "launcher/report/exit_code.h"
#include "launcher/sweep/relay/relay_frame.h"
#include "launcher/sweep/relay/relayed_command.h"

namespace bp::launcher::sweep {
namespace {

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
        RelayedCommand::Listener{[this, number](std::string_view bytes) {
                                   send({RelayType::output, number, bytes});
                                 },
                                 [this, number](std::string_view bytes) {
                                   send({RelayType::errors, number, bytes});
                                 },
                                 [this, number](int code) { exited(number, code); }});
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
    Fd in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    Fd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!in || !out || !null) {
      throw Error(ErrorCode::io, concat("cannot move the connection: ", error_text(errno)));
    }
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(null.get(), STDOUT_FILENO);
    HostRelay({.in = std::move(in), .out = std::move(out)}).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bprun sweep: %s\n", printable(error.what()).c_str());
    return kExitInternal;
  }
}

}  // namespace bp::launcher::sweep
