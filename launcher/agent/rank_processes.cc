#include "launcher/agent/rank_processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/program.h"
#include "launcher/process/spawn.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {

RankOutput::RankOutput(EventLoop& loop,
                       OutputWindow& window,
                       std::function<void(Output)> send,
                       int rank,
                       Stream stream,
                       Fd pipe)
    : loop_(loop),
      window_(window),
      send_(std::move(send)),
      rank_(rank),
      stream_(stream),
      pipe_(std::move(pipe)) {
  set_nonblocking(pipe_.get());
  loop_.watch(pipe_.get(), POLLIN, [this](short) { static_cast<void>(read_some()); });
}

bool RankOutput::read_some() {
  std::array<char, 64U << 10U> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const std::size_t room = std::min<std::size_t>(buffer.size(), window_.left());
  if (room == 0) {
    update_interest();
    return false;
  }
  const ssize_t got = ::read(pipe_.get(), buffer.data(), room);
  if (got > 0) {
    window_.use(static_cast<std::uint32_t>(got));
    send_({rank_, stream_, std::string(buffer.data(), static_cast<std::size_t>(got))});
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (finishing_) {
      end();
    }
    return false;
  }
  end();
  return false;
}

void RankOutput::drain() {
  while (pipe_ && read_some()) {
  }
}

void RankOutput::finish() {
  finishing_ = true;
  drain();
}

void RankOutput::update_interest() {
  if (!pipe_) {
    return;
  }
  loop_.set_events(pipe_.get(), window_.left() == 0 ? short{0} : short{POLLIN});
  if (finishing_ && window_.left() != 0) {
    drain();
  }
}

void RankOutput::end() {
  close();
  send_({rank_, stream_, ""});
}

void RankOutput::close() {
  if (pipe_) {
    loop_.forget(pipe_.get());
    pipe_.reset();
  }
}

RankProcesses::RankProcesses(EventLoop& loop, Listener listener)
    : loop_(loop), listener_(std::move(listener)) {}

bool RankProcesses::start(const JobSpec& job,
                          const RankSpec& spec,
                          const std::string& file,
                          int key_fd) {
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  Pipe in = spec.rank == 0 ? make_pipe() : Pipe{};
  auto environment = merged_environment(job.environment, spec.environment);
  environment = merged_environment(std::move(environment),
                                   {concat("BP_JOB=", job.job), concat("BP_KEY_FD=", key_fd)});
  const SpawnResult result = spawn({.file = file,
                                    .argv = job.argv,
                                    .environment = std::move(environment),
                                    .standard_input = in.read.get(),
                                    .standard_output = out.write.get(),
                                    .standard_error = err.write.get(),
                                    .in_own_session = false,
                                    .die_with_parent = true,
                                    .limits = job.limits,
                                    .ignored = job.ignored_signals});
  if (result.error != 0) {
    listener_.send(StartFailed{.rank = spec.rank,
                               .exit_code = exit_code_of_exec_error(result.error),
                               .problem = concat(file, ": ", exec_error_text(result.error))});
    return false;
  }
  if (spec.rank == 0) {
    input_ = std::make_unique<FdSink>(loop_, std::move(in.write), [this](std::size_t bytes) {
      listener_.send(StdinTaken{static_cast<std::uint32_t>(bytes)});
    });
  }
  ranks_.push_back({.number = spec.rank,
                    .pid = result.pid,
                    .out = read_output(spec.rank, Stream::out, std::move(out.read)),
                    .err = read_output(spec.rank, Stream::err, std::move(err.read))});
  listener_.send(Started{.rank = spec.rank, .pid = result.pid});
  return true;
}

std::unique_ptr<RankOutput> RankProcesses::read_output(int rank, Stream stream, Fd pipe) {
  const auto pass_on = [this](Output output) {
    const bool ended = output.data.empty();
    listener_.send(std::move(output));
    if (ended) {
      listener_.output_ended();
    }
  };
  return std::make_unique<RankOutput>(loop_, window_, pass_on, rank, stream, std::move(pipe));
}

void RankProcesses::signal(int number) const {
  for (const Rank& rank : ranks_) {
    if (rank.running) {  // not reaped yet, so no other process has its number
      ::kill(-rank.pid, number);
    }
  }
}

void RankProcesses::child_ended(pid_t pid, int status, std::string cause) {
  const auto rank =
      std::ranges::find_if(ranks_, [pid](const Rank& it) { return it.pid == pid && it.running; });
  if (rank == ranks_.end()) {
    return;
  }
  rank->running = false;
  if (rank->number == 0) {
    input_.reset();
  }
  rank->out->drain();
  rank->err->drain();
  listener_.send(Exited{.rank = rank->number, .status = status, .cause = std::move(cause)});
}

bool RankProcesses::finish_output() {
  for (const Rank& rank : ranks_) {
    rank.out->finish();
    rank.err->finish();
  }
  return std::ranges::none_of(
      ranks_, [](const Rank& rank) { return rank.out->open() || rank.err->open(); });
}

void RankProcesses::push_input(std::string_view data) {
  if (!input_) {
    listener_.send(StdinTaken{static_cast<std::uint32_t>(data.size())});
  } else if (data.empty()) {
    input_->close_when_written();  // the end of stdin, after all earlier data
  } else {
    input_->write(data);
  }
}

void RankProcesses::output_taken(std::uint32_t bytes) {
  window_.give_back(bytes);
  for (const Rank& rank : ranks_) {
    rank.out->update_interest();
    rank.err->update_interest();
  }
}

bool RankProcesses::any_running() const {
  return std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.running; });
}

Descendants::Descendants(EventLoop& loop, RankProcesses& ranks, std::function<void()> on_reaped)
    : loop_(loop), ranks_(ranks), on_reaped_(std::move(on_reaped)) {}

void Descendants::reap() {
  siginfo_t end{};
  int found = 0;
  reaping_ = true;
  while ((found = ::waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT)) == 0 && end.si_pid != 0) {
    std::string cause =
        cause_of(end);  // before the process is reaped: it still has its /proc entry
    int status = 0;
    ::waitpid(end.si_pid, &status, 0);
    ranks_.child_ended(end.si_pid, status, std::move(cause));
  }
  reaping_ = false;
  none_left_ = found < 0;
  on_reaped_();
}

std::string Descendants::cause_of(const siginfo_t& end) {
  const bool killed = end.si_code == CLD_KILLED && end.si_status == SIGKILL;
  return killed && !killing_ ? oom_killer_.explain_kill(end.si_pid) : "";
}

void Descendants::stop_leftovers(std::optional<pid_t> spared) {
  if (std::exchange(stopping_, true) || killing_) {
    return;
  }
  auto left = descendants_of(::getpid());
  std::erase_if(left, [spared](const ProcessEntry& process) { return process.pid == spared; });
  leftovers_ = static_cast<int>(left.size());
  for (const ProcessEntry& process : left) {
    signal_process(process, SIGTERM);
    signal_process(process, SIGCONT);
  }
  loop_.after(kLeftoverGrace, [this] { kill_all(); });
}

// A process may fork between the listing and the signal, so one pass is not enough.
void Descendants::kill_all() {
  killing_ = true;
  reap();
  if (none_left_) {
    return;
  }
  ranks_.signal(SIGKILL);
  for (const ProcessEntry& process : descendants_of(::getpid())) {
    signal_process(process, SIGKILL);
  }
  loop_.after(kKillAgain, [this] { kill_all(); });
}

}  // namespace bp::launcher
