#include "launcher/agent/link.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

#include "base/quoted.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/agent.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/program.h"

namespace bp::launcher {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t kErrorLines = 5;
constexpr std::size_t kMaxErrors = 16U << 10U;
// After the end of the connection, for the process to end and ssh to say why.
constexpr std::chrono::milliseconds kLastWords{1000};

// sshd at MaxStartups closes a connection before it has said anything.
constexpr int kMostTries = 6;
constexpr std::chrono::milliseconds kFirstRetry{
    500};  // doubled each time; a random half of it is left out

bool has_no_room(const std::string& errors) {
  return errors.find("exchange_identification: ") != std::string::npos &&
         (errors.find("closed by remote host") != std::string::npos ||
          errors.find("reset by peer") != std::string::npos);
}

// Lines that ssh prints with LogLevel=VERBOSE and that report no problem.
bool is_no_trouble(std::string_view line) {
  static constexpr std::array<std::string_view, 4> kLines{"Authenticated to ", "Transferred: sent ",
                                                          "Bytes per second: sent ",
                                                          "Warning: Permanently added "};
  return std::ranges::any_of(kLines, [&](std::string_view it) { return line.starts_with(it); });
}

// Starts a process by `start`, which gets the process's standard streams and returns its pid.
template <class Start>
PipedProcess start_with_pipes(const Start& start) {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  widen_pipe(out.write.get());
  Pipe errors = make_pipe();
  const pid_t pid = start(
      Streams{.input = in.read.get(), .output = out.write.get(), .errors = errors.write.get()});
  return {.child = Child(pid),
          .from_it = std::move(out.read),
          .to_it = std::move(in.write),
          .errors = std::move(errors.read)};
}

}  // namespace

std::vector<std::string> last_complaints(const std::string& text, std::size_t most) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    if (!line.empty() && !is_no_trouble(line)) {
      lines.push_back(line);
    }
  }
  lines.erase(lines.begin(),
              lines.end() - static_cast<std::ptrdiff_t>(std::min(most, lines.size())));
  return lines;
}

PipedProcess start_piped(const std::vector<std::string>& argv, bool die_with_parent) {
  const auto environment = own_environment();
  const Program program = find_program(
      argv.front(), {.path = std::string(find_environment(environment, "PATH").value_or(""))});
  if (program.exit_code != 0) {
    throw Error(ErrorCode::io, concat("cannot run ", argv.front(), ": ", program.problem));
  }
  return start_with_pipes([&](const Streams& streams) {
    const SpawnResult result = spawn({.file = program.file,
                                      .argv = argv,
                                      .environment = environment,
                                      .standard_input = streams.input,
                                      .standard_output = streams.output,
                                      .standard_error = streams.errors,
                                      .die_with_parent = die_with_parent});
    if (result.error == 0) return result.pid;
    throw Error(ErrorCode::io,
                concat("cannot run ", program.file, ": ", exec_error_text(result.error)));
  });
}

AgentLink::AgentLink(EventLoop& loop, Listener listener)
    : loop_(loop), listener_(std::move(listener)) {
  take(start_with_pipes(
      [](const Streams& streams) { return fork_copy(streams, [] { return agent_main(); }); }));
}

AgentLink::AgentLink(EventLoop& loop, const std::vector<std::string>& argv, Listener listener)
    : loop_(loop), listener_(std::move(listener)), argv_(argv) {
  take(start_piped(argv_, false));
}

void AgentLink::take(PipedProcess started) {
  child_ = std::make_unique<Child>(std::move(started.child));
  channel_ = std::make_unique<Channel>(
      loop_,
      Channel::Ends{
          .in = std::move(started.from_it), .out = std::move(started.to_it), .await_magic = true},
      channel_listener());
  errors_ = std::make_unique<FdSource>(loop_, std::move(started.errors),
                                       [this](std::string_view bytes) { read_errors(bytes); });
}

bool AgentLink::let_in() const {
  return error_text_.find("Authenticated to ") != std::string::npos;
}

// Many hosts behind one sshd may be tried at once. The random part keeps them from coming back
// together.
bool AgentLink::try_again() {
  if (!loss_.before_hello || loss_.tries >= kMostTries || !has_no_room(error_text_)) {
    return false;
  }
  const auto longest = kFirstRetry * (1 << (loss_.tries - 1));
  std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<milliseconds::rep> chance(longest.count() / 2, longest.count());
  retry_timer_ = loop_.after(milliseconds(chance(random)), [this] { start_again(); });
  return true;
}

void AgentLink::start_again() {
  error_text_.clear();
  closed_ = false;
  loss_ = {.tries = loss_.tries + 1};
  try {
    take(start_piped(argv_, false));
  } catch (const Error& error) {
    loss_.problem = error.what();
    report_loss();
  }
}

AgentLink::AgentLink(EventLoop& loop, std::unique_ptr<Channel> channel, Listener listener)
    : loop_(loop), listener_(std::move(listener)), channel_(std::move(channel)) {
  loss_.before_hello = false;
  channel_->listen(channel_listener());
}

AgentLink::~AgentLink() { hang_up(); }

Channel::Listener AgentLink::channel_listener() {
  return {[this](const Frame& frame) { handle(frame); },
          [this](const std::string& problem) { channel_closed(problem); }};
}

void AgentLink::handle(const Frame& frame) {
  ToLauncher message = decode_to_launcher(frame);
  if (std::holds_alternative<Hello>(message)) {
    loss_.before_hello = false;
    error_text_.clear();  // a banner
  } else if (const auto* leaving = std::get_if<Leaving>(&message)) {
    loss_.last_word = leaving->why;
    loss_.heard_nothing_from_bprun = leaving->bprun_silent;
    return;
  }
  listener_.on_message(message);
}

void AgentLink::read_errors(std::string_view bytes) {
  error_text_ += bytes;
  error_text_.erase(0, error_text_.size() - std::min(error_text_.size(), kMaxErrors));
}

void AgentLink::channel_closed(const std::string& problem) {
  loss_.problem = problem;
  if (child_) {
    loop_.watch(child_->fd(), POLLIN, [this](short) { report_loss(); });
    loss_timer_ = loop_.after(kLastWords, [this] { report_loss(); });
  } else {
    report_loss();
  }
}

void AgentLink::report_loss() {
  if (std::exchange(closed_, true)) {
    return;
  }
  loop_.cancel(loss_timer_);
  if (child_) {
    loop_.forget(child_->fd());
    loss_.status = child_->wait(Deadline(std::chrono::milliseconds{0})).value_or(0);
  } else if (loss_.problem.empty()) {
    loss_.problem = "its connection ended";
  }
  if (errors_) {
    errors_->drain();
  }
  loss_.let_in = let_in();
  if (try_again()) {
    return;
  }
  loss_.errors = quoted_lines(
      last_complaints(error_text_.empty() ? channel_->before_magic() : error_text_, kErrorLines));
  listener_.on_lost(loss_);
}

void AgentLink::hang_up() {
  channel_->close();
  loop_.cancel(loss_timer_);
  loop_.cancel(retry_timer_);
  if (child_ && child_->fd() >= 0) {
    loop_.forget(child_->fd());
  }
  errors_.reset();
  closed_ = true;
}

void AgentLink::wait(Deadline deadline) {
  if (!child_ || child_->fd() < 0) {
    return;
  }
  if (loss_.before_hello || !child_->wait(deadline)) {
    child_->kill();
  }
}

}  // namespace bp::launcher
