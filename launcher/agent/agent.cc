#include "launcher/agent/agent.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/job_key.h"
#include "base/quoted.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/channel.h"
#include "launcher/agent/descendants.h"
#include "launcher/agent/host_probe.h"
#include "launcher/agent/join_key.h"
#include "launcher/agent/launcher_watch.h"
#include "launcher/agent/prepare_job.h"
#include "launcher/agent/rank_processes.h"
#include "launcher/agent/watchdog.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/limits.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/signals.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/messages.h"
#include "launcher/protocol/sealed_job.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

class Agent {
 public:
  Agent(Channel::Ends ends, const JoinSession* session);
  int run();

 private:
  void handle(const Heartbeat& message);
  void handle(JobSpec& spec);
  void handle(const SealedJob& job);
  void handle(const Go&);
  void handle(const SignalRanks& message);
  void handle(const StopRanks& message);
  void handle(const StdinData& message);
  void handle(const OutputTaken& message);
  void handle(const Suspend& message);
  void handle(const Ask& message);
  void handle(const ProbeListen& message) { probe_.handle(message); }
  void handle(const ProbePeers& message) { probe_.handle(message); }
  void handle(const End& message);

  void send(const ToLauncher& message) { channel_.send(encode(message)); }
  void beat();
  void look();
  void give_up(const Leaving& message);
  void look_for_end();
  void on_signal(int number);
  void leave(const std::string& why, int code);

  const JoinSession* const session_;  // null: bprun started this agent
  EventLoop loop_;
  SignalFd signals_{SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  HeldPort port_;
  Channel channel_;
  LauncherWatch watch_;
  HostProbe probe_;                      // until the job comes
  std::optional<JobReceiver> receiver_;  // in a step of srun, whose stream others can read
  RankProcesses ranks_;
  Descendants descendants_;
  std::unique_ptr<Watchdog> watchdog_;  // while ranks run on another machine than bprun's
  std::optional<JobSpec> job_;
  std::string program_;       // the path of the job's program on this host
  Fd key_;                    // of the job, until the ranks have inherited it
  bool all_started_ = false;  // all ranks that ever will be
  bool suspended_ = false;    // bprun is suspended: expect no heartbeats
  bool done_ = false;         // Done was sent
  bool leaving_ = false;      // end once no process is left
  bool asked_to_stop_ = false;
  int exit_code_ = 0;
};

Agent::Agent(Channel::Ends ends, const JoinSession* session)
    : session_(session),
      channel_(loop_,
               std::move(ends),
               {[this](const Frame& frame) {
                  auto message = decode_to_agent(frame);
                  std::visit([this](auto& content) { handle(content); }, message);
                },
                [this](const std::string& problem) {
                  leave(problem.empty() ? "its connection ended" : problem, kExitTemporary);
                }}),
      watch_(loop_, session != nullptr ? session->lost_after : kLostAfter),
      probe_(loop_, [this](const ToLauncher& message) { send(message); }),
      ranks_(loop_,
             {[this](const ToLauncher& message) { send(message); }, [this] { look_for_end(); }}),
      descendants_(loop_, ranks_, [this] { look_for_end(); }) {
  loop_.watch(signals_.fd(), POLLIN, [this](short) {
    for (const int number : signals_.read()) {
      if (number == SIGCHLD) {
        descendants_.reap();
      } else {
        on_signal(number);
      }
    }
  });
}

int Agent::run() {
  adopt_orphans();
  raise_open_files_limit();  // each rank takes two pipes
  channel_.send(std::string(kAgentMagic));
  Hello hello = make_hello(port_.number());
  if (std::getenv("SLURM_STEP_ID") != nullptr) {
    receiver_.emplace().introduce(hello);
  }
  send(hello);
  if (session_ != nullptr) {
    send(session_->request);
  }
  beat();
  look();
  while (!leaving_ || !descendants_.none_left()) {
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
      give_up({concat("heard nothing from bprun ", watch_.silence_text()), true});
      leave(concat("nothing came from it ", watch_.silence_text()), kExitTemporary);
    }
  }
  loop_.after(kLookEvery, [this] { look(); });
}

// The last message: bprun needs no report of the ranks that end now, as it knows the reason.
void Agent::give_up(const Leaving& message) {
  send(message);
  channel_.close();
}

void Agent::handle(JobSpec& spec) {
  probe_.end();
  job_ = std::move(spec);
  auto prepared = prepare_job(*job_);
  if (const auto* failed = std::get_if<StartFailed>(&prepared)) {
    send(*failed);
    return;
  }
  program_ = std::get<Program>(std::move(prepared)).file;
  const JobKey key = session_ != nullptr ? key_of_job(session_->key, job_->job) : job_->key;
  key_ = share_job_key(key);
  if (session_ != nullptr) {
    say_joined(*session_, *job_);
  }
  if (!job_->store.host.empty()) {
    watch_.check_at({.store = job_->store, .job = job_->job, .key = key, .host = job_->host});
  }
  send(Ready{});
}

void Agent::handle(const SealedJob& job) {
  try {
    if (!receiver_)
      throw Error(ErrorCode::io, "the job is encrypted, but srun did not start this agent");
    JobSpec spec = receiver_->open(job);
    handle(spec);
  } catch (const Error& error) {
    send(StartFailed{-1, kExitInternal, error.what()});
  }
}

void Agent::handle(const Go&) {
  if (!key_ || all_started_) {
    return;
  }
  port_.release();
  try {
    if (!job_->store.host.empty()) {  // on bprun's own machine bprun itself ends them
      watchdog_ = std::make_unique<Watchdog>(watchdog_limit(watch_.lost_after()));
    }
    for (const RankSpec& spec : job_->ranks) {
      if (!ranks_.start(*job_, spec, program_, key_.get())) {
        break;
      }
      descendants_.child_started();
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
    descendants_.kill_all();
  } else {
    ranks_.signal(message.signal);
    ranks_.signal(SIGCONT);  // a stopped process cannot act on the signal
    loop_.after(std::chrono::milliseconds(message.grace_ms), [this] { descendants_.kill_all(); });
  }
  look_for_end();
}

void Agent::handle(const StdinData& message) { ranks_.push_input(message.data); }

void Agent::handle(const OutputTaken& message) { ranks_.output_taken(message.bytes); }

void Agent::handle(const Suspend& message) { suspended_ = message.on; }

void Agent::handle(const Ask& message) { send(Facts{json_text(find_facts(message.question))}); }

// Once all ranks have ended: stops the processes that they left, then ends their output, then
// reports.
void Agent::look_for_end() {
  if (done_ || descendants_.reaping() || !all_started_ || ranks_.any_running()) {
    return;
  }
  if (!descendants_.none_left()) {
    descendants_.stop_leftovers(watchdog_ ? std::optional(watchdog_->pid()) : std::nullopt);
    return;
  }
  done_ = true;  // finish_output() calls this function again
  done_ = ranks_.finish_output();
  if (done_) {
    send(Done{descendants_.leftovers()});
  }
}

void Agent::handle(const End& message) {
  channel_.close();  // this tells bprun that the message has arrived
  if (session_ != nullptr) {
    say_end(message);
  }
  leave("", message.exit_code);
}

// A batch system that started this agent, as with srun, warns by SIGUSR1 or SIGUSR2. An agent that
// joined has a user on this machine. That user may want to stop the job, or to leave before it
// begins.
void Agent::on_signal(int number) {
  if (number == SIGUSR1 || number == SIGUSR2) {
    ranks_.signal(number);
  } else if (session_ != nullptr && !ranks_.none_started() &&
             !std::exchange(asked_to_stop_, true)) {
    send(AskStop{number});
  } else {
    give_up({concat("received ", signal_name(number))});
    leave("", kExitSignal + number);
  }
}

void Agent::leave(const std::string& why, int code) {
  if (std::exchange(leaving_, true)) {
    return;
  }
  if (session_ != nullptr) {
    exit_code_ = code;
    if (!why.empty()) {
      say_lost(*session_, why);
    }
  }
  all_started_ = true;
  descendants_.kill_all();
}

}  // namespace

int run_agent(Channel::Ends ends, const JoinSession* session) {
  ignore_broken_pipes();
  return Agent(std::move(ends), session).run();
}

// Moves the connection away from stdin and stdout, so that nothing else can print into it or read
// from it.
int agent_main() {
  try {
    Fd in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    Fd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!in || !out || !null) {
      throw Error(ErrorCode::io, concat("cannot move the connection: ", error_text(errno)));
    }
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(null.get(), STDOUT_FILENO);
    return run_agent({.in = std::move(in), .out = std::move(out)});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bprun: %s\n", printable(error.what()).c_str());
    return kExitInternal;
  }
}

}  // namespace bp::launcher
