#include "launcher/sweep/relay/host_connection.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/deadline.h"
#include "base/text.h"
#include "launcher/agent/link.h"
#include "launcher/protocol/hello.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher::sweep {
namespace {

constexpr int kLikeSsh = 255;  // the exit code of a command whose connection was lost
constexpr std::size_t kKeptErrors = std::size_t{16} << 10;

}  // namespace

struct HostConnection::Command {
  std::unique_ptr<FdSource> input;
  std::unique_ptr<FdSink> output;
  std::unique_ptr<FdSink> errors;
  std::function<void(int)> on_exit;
};

HostConnection::HostConnection(EventLoop& loop,
                               const std::vector<std::string>& command,
                               std::chrono::milliseconds limit,
                               Listener listener)
    : loop_(loop), listener_(std::move(listener)) {
  PipedProcess started = start_piped(command, true);
  child_ = std::make_unique<Child>(std::move(started.child));
  errors_ = std::make_unique<FdSource>(loop_, std::move(started.errors),
                                       [this](std::string_view bytes) { read_errors(bytes); });
  channel_ = std::make_unique<Channel>(
      loop_,
      Channel::Ends{
          .in = std::move(started.from_it), .out = std::move(started.to_it), .await_magic = true},
      Channel::Listener{[this](const Frame& frame) { handle(decode_relay_frame(frame)); },
                        [this](const std::string& problem) { lose(problem); }});
  timer_ = loop_.after(limit, [this, limit] {
    if (!ready_) lose(concat("no answer within ", elapsed_text(limit), " (--start-timeout)"));
  });
}

HostConnection::~HostConnection() {
  loop_.cancel(timer_);
  listener_.on_lost = [](const std::string&) {};
  lose("the sweep has ended");
}

std::uint32_t HostConnection::open(PassedStreams streams, std::function<void(int)> on_exit) {
  const std::uint32_t number = next_++;
  Command& command = *(commands_[number] = std::make_unique<Command>());
  command.on_exit = std::move(on_exit);
  command.output = std::make_unique<FdSink>(loop_, std::move(streams.output));
  command.errors = std::make_unique<FdSink>(loop_, std::move(streams.errors));
  channel_->send(encode({RelayType::open, number, streams.command}));
  command.input = std::make_unique<FdSource>(
      loop_, std::move(streams.input), [this, number](std::string_view bytes) {
        channel_->send(encode({RelayType::input, number, bytes}));
      });
  return number;
}

void HostConnection::hang_up(std::uint32_t number) {
  if (commands_.erase(number) != 0) {
    channel_->send(encode({RelayType::hang_up, number, {}}));
  }
}

void HostConnection::hello(const RelayFrame& frame) {
  if (frame.bytes != own_build()) {
    lose("it has another build of bprun-sweep; copy this one there, or name one by --remote-bprun");
    return;
  }
  ready_ = true;
  listener_.on_ready(static_cast<int>(frame.command));
}

void HostConnection::handle(const RelayFrame& frame) {
  if (frame.type == RelayType::hello) {
    hello(frame);
    return;
  }
  const auto found = commands_.find(frame.command);
  if (found == commands_.end()) {
    return;  // hung up in the meantime
  }
  if (frame.type == RelayType::output) {
    found->second->output->write(frame.bytes);
  } else if (frame.type == RelayType::errors) {
    found->second->errors->write(frame.bytes);
  } else if (frame.type == RelayType::exited) {
    int code = kLikeSsh;
    std::from_chars(frame.bytes.data(), frame.bytes.data() + frame.bytes.size(), code);
    end(frame.command, code);
  }
}

void HostConnection::read_errors(std::string_view bytes) {
  error_text_ += bytes;
  if (error_text_.size() > kKeptErrors) {
    error_text_.erase(0, error_text_.size() - kKeptErrors);
  }
}

void HostConnection::end(std::uint32_t number, int code) {
  std::erase_if(ended_, [](const auto& command) {
    return command->output->closed() && command->errors->closed();
  });
  auto found = commands_.extract(number);
  Command& command = *ended_.emplace_back(std::move(found.mapped()));
  command.input->close();
  command.output->close_when_written();
  command.errors->close_when_written();
  command.on_exit(code);
}

void HostConnection::lose(const std::string& why) {
  if (std::exchange(lost_, true)) {
    return;
  }
  channel_->close();
  // ssh says why it ends before it ends; a relay ends its commands at the end of its input.
  static_cast<void>(child_->wait(Deadline(std::chrono::milliseconds{500})));
  errors_->drain();
  errors_->close();
  child_->kill();
  while (!commands_.empty()) {
    end(commands_.begin()->first, kLikeSsh);
  }
  const auto last = last_complaints(error_text_, 1);
  listener_.on_lost(!last.empty() ? last.front() : why.empty() ? "the connection ended" : why);
}

}  // namespace bp::launcher::sweep
