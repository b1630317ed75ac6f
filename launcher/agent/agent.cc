#include "launcher/agent/agent.h"

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/keys/job_key.h"
#include "base/quoted.h"
#include "base/text.h"
#include "bp/environment.h"
#include "bp/error.h"
#include "launcher/agent/channel.h"
#include "launcher/agent/join_key.h"
#include "launcher/agent/launcher_watch.h"
#include "launcher/agent/prepare_job.h"
#include "launcher/agent/rank_processes.h"
#include "launcher/agent/watchdog.h"
#include "launcher/hosts/address.h"
#include "launcher/hosts/rank_list.h"
#include "launcher/network/probe_listener.h"
#include "launcher/network/probe_round.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/limits.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/signals.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/sealed_job.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

// What an agent that joined prints on stderr: all output of the ranks goes to the server.
void say_joined(const JoinSession& session, const JobSpec& job) {
  std::vector<int> ranks;
  for (const RankSpec& rank : job.ranks) ranks.push_back(rank.rank);
  std::fprintf(stderr, "bprun: joined %s, which prints the output of %s %s of this machine\n",
               session.server.c_str(), ranks.size() == 1 ? "rank" : "ranks",
               rank_ranges(ranks).c_str());
}

void say_lost(const JoinSession& session, const std::string& why) {
  std::fprintf(stderr, "bprun: lost bprun at %s: %s\n", session.server.c_str(),
               quoted_line(why).c_str());
}

void say_end(const End& end) {
  if (!end.text.empty()) std::fprintf(stderr, "%s\n", printable(end.text).c_str());
}

// The part in the network probe: listens for the other hosts, then tries to reach each of them.
class HostProbe {
 public:
  // `send` sends the answers to bprun. `loop` must outlive this.
  HostProbe(EventLoop& loop, std::function<void(const ToLauncher&)> send)
      : loop_(loop), send_(std::move(send)) {}

  void handle(const ProbeListen& message) {  // answers ProbeReady
    key_ = message.key;
    listener_ = std::make_unique<ProbeListener>(loop_, message.host, message.key);
    send_(ProbeReady{listener_->port(), own_addresses()});
  }
  void handle(const ProbePeers& message) {  // answers ProbeReport once all are tried
    round_ = std::make_unique<ProbeRound>(
        loop_, key_, message.peers, std::chrono::milliseconds(message.limit_ms),
        [this](const ProbeProblems& problems) { send_(ProbeReport{problems}); });
  }
  void end() {  // closes its sockets
    round_.reset();
    listener_.reset();
  }

 private:
  EventLoop& loop_;
  std::function<void(const ToLauncher&)> send_;
  JobKey key_{};
  std::unique_ptr<ProbeListener> listener_;
  std::unique_ptr<ProbeRound> round_;
};

class Agent {
 public:
  Agent(Channel::Ends ends, const JoinSession* session);
  int run();

 private:
  void handle(const Heartbeat& message);
  void handle(JobSpec& spec);
  void handle(const SealedJob& job);
  void handle(const Go&);
  void handle(const SignalRanks& message) { ranks_.signal(message.signal); }
  void handle(const StopRanks& message);
  void handle(const StdinData& message) { ranks_.push_input(message.data); }
  void handle(const OutputTaken& message) { ranks_.output_taken(message.bytes); }
  void handle(const Suspend& message) { suspended_ = message.on; }
  void handle(const Ask& message) { send(Facts{json_text(find_facts(message.question))}); }
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
    send(StartFailed{.exit_code = kExitInternal, .problem = error.what()});
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
    send(StartFailed{.exit_code = kExitInternal, .problem = error.what()});
  }
  all_started_ = true;
  key_.reset();
  look_for_end();
}

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

int agent_main() {
  try {
    return run_agent(standard_ends());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bprun: %s\n", printable(error.what()).c_str());
    return kExitInternal;
  }
}

}  // namespace bp::launcher
