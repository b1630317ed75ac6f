#include "launcher/agent/agent.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/job_key.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/channel.h"
#include "launcher/agent/join_key.h"
#include "launcher/agent/launcher_watch.h"
#include "launcher/agent/prepare_job.h"
#include "launcher/agent/rank_processes.h"
#include "launcher/agent/watchdog.h"
#include "launcher/network/probe_listener.h"
#include "launcher/network/probe_round.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/limits.h"
#include "launcher/process/oom_killer.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/signals.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/messages.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/quoted.h"

namespace bp::launcher {
namespace {

class Agent {
 public:
  Agent(Channel::Ends ends, const JoinSession* own);
  int run();

 private:
  void handle(const Heartbeat& message);
  void handle(JobSpec& spec);
  void handle(const Go&);
  void handle(const SignalRanks& message);
  void handle(const StopRanks& message);
  void handle(const StdinData& message);
  void handle(const OutputTaken& message);
  void handle(const Suspend& message);
  void handle(const Ask& message);
  void handle(const ProbeListen& message);
  void handle(const ProbePeers& message);
  void handle(const End& message);

  void send(const ToLauncher& message) { channel_.send(encode(message)); }
  void beat();
  void look();
  void give_up(const Leaving& message);
  void reap();
  [[nodiscard]] std::string cause_of(const siginfo_t& end);
  void look_for_end();
  void stop_leftovers();
  void kill_everything();
  void on_signal(int number);
  void leave(const std::string& why, int code);

  const JoinSession* own_;
  EventLoop loop_;
  SignalFd signals_{SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  HeldPort port_;
  Channel channel_;
  LauncherWatch watch_;
  std::unique_ptr<Watchdog> watchdog_;  // while ranks run
  OomKiller oom_killer_;
  JobKey probe_key_{};
  std::unique_ptr<ProbeListener> probe_listener_;  // until the job comes
  std::unique_ptr<ProbeRound> probe_round_;
  std::optional<JobSpec> job_;
  std::string program_;  // of the job, as found here
  Fd key_;
  RankProcesses ranks_;
  bool all_started_ = false;  // or will never be
  bool suspended_ = false;
  bool killing_ = false;
  bool reaping_ = false;
  bool stopping_leftovers_ = false;
  int leftovers_ = 0;
  bool childless_ = true;
  bool done_ = false;
  bool leaving_ = false;
  bool asked_to_stop_ = false;
  int exit_code_ = 0;
};

Agent::Agent(Channel::Ends ends, const JoinSession* own)
    : own_(own),
      channel_(loop_,
               std::move(ends),
               {[this](const Frame& frame) {
                  auto message = decode_to_agent(frame);
                  std::visit([this](auto& content) { handle(content); }, message);
                },
                [this](const std::string& problem) {
                  leave(problem.empty() ? "its connection ended" : problem, kExitTemporary);
                }}),
      watch_(loop_, own != nullptr ? own->lost_after : kLostAfter),
      ranks_(loop_,
             {[this](const ToLauncher& message) { send(message); }, [this] { look_for_end(); }}) {
  loop_.watch(signals_.fd(), POLLIN, [this](short) {
    for (const int number : signals_.read()) {
      number == SIGCHLD ? reap() : on_signal(number);
    }
  });
}

int Agent::run() {
  adopt_orphans();
  raise_open_files_limit();  // two pipes a rank take many
  channel_.send(std::string(kAgentMagic));
  send(make_hello(port_.number()));
  if (own_ != nullptr) {
    send(own_->request);
  }
  beat();
  look();
  while (!leaving_ || !childless_) {
    loop_.run_once();
  }
  return exit_code_;
}

void Agent::beat() {
  send(Heartbeat{});
  loop_.after(kHeartbeat, [this] { beat(); });
}

void Agent::handle(const Heartbeat& message) {
  const auto before = watch_.lost_after();
  watch_.take(message);
  if (watch_.lost_after() != before) {
    channel_.outlast(watch_.lost_after());
  }
}

void Agent::look() {
  if (watchdog_) {
    watchdog_->calm();
  }
  if (!suspended_ && !leaving_) {
    watch_.look(channel_.last_heard());
    if (watch_.lost()) {
      give_up({concat("heard nothing of bprun ", watch_.silence_text()), true});
      leave(concat("it gave no sign of life ", watch_.silence_text()), kExitTemporary);
    }
  }
  loop_.after(kLookEvery, [this] { look(); });
}

// Nothing after it: of ranks that end now bprun knows the reason already.
void Agent::give_up(const Leaving& message) {
  send(message);
  channel_.close();
}

void Agent::handle(const ProbeListen& message) {
  probe_key_ = message.key;
  probe_listener_ = std::make_unique<ProbeListener>(loop_, message.host, message.key);
  send(ProbeReady{probe_listener_->port(), own_addresses()});
}

void Agent::handle(const ProbePeers& message) {
  probe_round_ = std::make_unique<ProbeRound>(
      loop_, probe_key_, message.peers, std::chrono::milliseconds(message.limit_ms),
      [this](const ProbeProblems& problems) { send(ProbeReport{problems}); });
}

void Agent::handle(JobSpec& spec) {
  probe_round_.reset();
  probe_listener_.reset();
  job_ = std::move(spec);
  auto prepared = prepare_job(*job_);
  if (const auto* failed = std::get_if<StartFailed>(&prepared)) {
    send(*failed);
    return;
  }
  program_ = std::get<Program>(std::move(prepared)).file;
  key_ = share_job_key(own_ != nullptr ? key_of_job(own_->key, job_->job) : job_->key);
  if (own_ != nullptr) {
    say_joined(*own_, *job_);
  }
  if (!job_->store.host.empty()) {
    watch_.check_at({.store = job_->store,
                     .job = job_->job,
                     .key = own_ != nullptr ? key_of_job(own_->key, job_->job) : job_->key,
                     .host = job_->host});
  }
  send(Ready{});
}

void Agent::handle(const Go&) {
  if (!key_ || all_started_) {
    return;
  }
  port_.release();
  try {
    if (!job_->store.host.empty()) {  // on bprun's own machine bprun ends them
      watchdog_ = std::make_unique<Watchdog>(watchdog_limit(watch_.lost_after()));
    }
    for (const RankSpec& spec : job_->ranks) {
      if (!ranks_.start(*job_, spec, program_, key_.get())) {
        break;
      }
      childless_ = false;
    }
  } catch (const Error& error) {
    send(StartFailed{-1, kExitInternal, error.what()});
  }
  all_started_ = true;
  key_.reset();
  look_for_end();
}

void Agent::handle(const SignalRanks& message) { ranks_.signal(message.signal); }

void Agent::handle(const StopRanks& message) {
  all_started_ = true;
  if (message.grace_ms == 0) {
    kill_everything();
  } else {
    ranks_.signal(message.signal);
    ranks_.signal(SIGCONT);  // a stopped process could not act on it
    loop_.after(std::chrono::milliseconds(message.grace_ms), [this] { kill_everything(); });
  }
  look_for_end();
}

void Agent::handle(const StdinData& message) { ranks_.push_input(message.data); }

void Agent::handle(const OutputTaken& message) { ranks_.output_taken(message.bytes); }

void Agent::handle(const Suspend& message) { suspended_ = message.on; }

void Agent::handle(const Ask& message) { send(Facts{json_text(find_facts(message.question))}); }

void Agent::reap() {
  siginfo_t end{};
  int found = 0;
  reaping_ = true;
  while ((found = ::waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT)) == 0 && end.si_pid != 0) {
    std::string cause = cause_of(end);  // while the process is still there to be asked about
    int status = 0;
    ::waitpid(end.si_pid, &status, 0);
    ranks_.child_ended(end.si_pid, status, std::move(cause));
  }
  reaping_ = false;
  childless_ = found < 0;  // orphans come to us, so without a child there is no descendant
  look_for_end();
}

std::string Agent::cause_of(const siginfo_t& end) {
  const bool killed = end.si_code == CLD_KILLED && end.si_status == SIGKILL;
  return killed && !killing_ ? oom_killer_.word_about(end.si_pid) : "";
}

// Once all ranks have ended: stops what they left, then ends their output, then reports.
void Agent::look_for_end() {
  // While children are reaped it is not known yet whether any is left.
  if (done_ || reaping_ || !all_started_ || ranks_.any_running()) {
    return;
  }
  if (!childless_) {
    stop_leftovers();
    return;
  }
  done_ = true;  // before finish_output(): that comes back here
  done_ = ranks_.finish_output();
  if (done_) {
    send(Done{leftovers_});
  }
}

void Agent::stop_leftovers() {
  if (std::exchange(stopping_leftovers_, true) || killing_) {
    return;
  }
  auto left = descendants_of(::getpid());
  std::erase_if(left, [this](const ProcessEntry& process) {
    return watchdog_ && process.pid == watchdog_->pid();
  });
  leftovers_ = static_cast<int>(left.size());
  for (const ProcessEntry& process : left) {
    signal_process(process, SIGTERM);
    signal_process(process, SIGCONT);
  }
  loop_.after(kLeftoverGrace, [this] { kill_everything(); });
}

// Again and again, because a process may fork between the listing and the signal.
void Agent::kill_everything() {
  killing_ = true;
  reap();
  if (childless_) {
    return;
  }
  ranks_.signal(SIGKILL);
  for (const ProcessEntry& process : descendants_of(::getpid())) {
    signal_process(process, SIGKILL);
  }
  loop_.after(kKillAgain, [this] { kill_everything(); });
}

void Agent::handle(const End& message) {
  channel_.close();  // so that the launcher knows that we have heard
  if (own_ != nullptr) {
    say_end(message);
  }
  leave("", message.exit_code);
}

// A batch system that started us, as by srun, warns by SIGUSR1 or 2. Who has come by himself has a
// user here, who may want the job to stop, or just to leave while nothing has begun.
void Agent::on_signal(int number) {
  if (number == SIGUSR1 || number == SIGUSR2) {
    ranks_.signal(number);
  } else if (own_ != nullptr && !ranks_.none_started() && !std::exchange(asked_to_stop_, true)) {
    send(AskStop{number});
  } else {
    give_up({concat("was told to end by ", signal_name(number))});
    leave("", kExitSignal + number);
  }
}

void Agent::leave(const std::string& why, int code) {
  if (std::exchange(leaving_, true)) {
    return;
  }
  if (own_ != nullptr) {
    exit_code_ = code;
    if (!why.empty()) {
      say_lost(*own_, why);
    }
  }
  all_started_ = true;
  kill_everything();
}

}  // namespace

int run_agent(Channel::Ends ends, const JoinSession* own) {
  ignore_broken_pipes();
  return Agent(std::move(ends), own).run();
}

// What anything else would print or read goes to /dev/null.
int agent_main() {
  try {
    Fd in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    Fd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(null.get(), STDOUT_FILENO);
    return run_agent({.in = std::move(in), .out = std::move(out)});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bprun: %s\n", printable(error.what()).c_str());
    return kExitInternal;
  }
}

}  // namespace bp::launcher
