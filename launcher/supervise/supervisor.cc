#include "launcher/supervise/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/job_key.h"
#include "base/text.h"
#include "launcher/agent/join_key.h"
#include "launcher/failure/rank_texts.h"
#include "launcher/hosts/rank_list.h"
#include "launcher/process/process_tree.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

// Ranks that have joined hear of a failure from the store: so long they have to leave by
// themselves, with a record of what they were in.
constexpr auto kOwnEnd = 250ms;
constexpr auto kTermToKill = 1s;   // of a failure stop
constexpr auto kAfterKill = 5s;    // for a host to report its end once the kill was due
constexpr auto kTellFirst = 50ms;  // before the agents kill at the end of the grace
constexpr auto kAgentsEnd = 2s;    // for the agents to end once their work is done

std::chrono::milliseconds since(EventLoop::Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(EventLoop::Clock::now() - start);
}

}  // namespace

Supervisor::Supervisor(const Options& options,
                       const JobPlan& plan,
                       const Generation& generation,
                       JoinedMachines machines)
    : options_(options),
      plan_(plan),
      generation_(generation),
      machines_(std::move(machines)),
      loop_(*machines_.loop),
      signals_{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP},
      output_(loop_,
              {.world_size = world_size(plan.placement),
               .style = options.prefix,
               .folder = options.output,
               .shown = options.shown_ranks,
               .quiet = options.quiet,
               .colours = options.colours},
              [this](int rank, std::uint32_t bytes) {
                agents_.output_taken(host_of_rank(plan_.placement, rank), bytes);
              }),
      detector_(world_size(plan.placement)),
      heartbeats_(options.kill_silent, rank_silence(options.lost_after)),
      ranks_(plan.placement),
      key_(machines_.key ? key_of_job(*machines_.key, generation.job) : random_job_key()),
      agents_(loop_,
              plan,
              std::move(machines_.arrivals),
              options.lost_after,
              [this](std::size_t host, const ToLauncher& message) { on_message(host, message); }) {
  loop_.watch(signals_.fd(), POLLIN, [this](short) {
    for (const int number : signals_.read()) {
      on_signal(number);
    }
  });
}

Supervisor::~Supervisor() {
  agents_.close(kAgentsEnd);
  kill_adopted();
}

Ending Supervisor::run() {
  advance();  // hosts that have come by themselves have said hello already
  while (phase_ != Phase::finished) {
    loop_.run_once(time_to_next_look());
    advance();
  }
  stop_took_ = stopping_since_ ? since(*stopping_since_) : 0ms;
  agents_.dismiss(farewell(), kAgentsEnd);
  agents_.close(kAgentsEnd);
  if (failure_) {
    output_.say_report(format_report(report()));
  } else if (stop_requests_ > 0) {
    for (const std::string& end : ranks_.bad_ends()) {
      output_.say(concat("bprun: ", end, " when asked to stop"));
    }
  } else if (const auto ranks = detector_.left_without_goodbye(); !ranks.empty()) {
    output_.say(left_silently(ranks));
  }
  output_.show_all();
  write_out();
  output_.say_losses();
  write_out();
  return {exit_code(), started_ != Clock::time_point{}, stop_signal_, failure_,
          failure_ ? next_command() : ""};
}

// A signal ends the wait for a terminal that is held.
void Supervisor::write_out() {
  const int requests = stop_requests_;
  while (!output_.all_written() && stop_requests_ == requests) {
    loop_.run_once();
  }
}

// Some things happen only because time passes.
std::chrono::milliseconds Supervisor::time_to_next_look() const {
  const auto now = Clock::now();
  auto next = now + 1s;
  for (const auto& time : {detector_.latest(), stop_at_, kill_at_, give_up_at_}) {
    if (time && *time > now) {
      next = std::min(next, *time);
    }
  }
  return std::chrono::ceil<std::chrono::milliseconds>(next - now);
}

void Supervisor::on_message(std::size_t host, const ToLauncher& message) {
  if (const auto* ready = std::get_if<ProbeReady>(&message)) {
    probe_->handle(host, *ready);
  } else if (const auto* report = std::get_if<ProbeReport>(&message)) {
    probe_->handle(host, *report);
  } else {
    on_rank(message);
  }
}

void Supervisor::on_rank(const ToLauncher& message) {
  if (const auto* output = std::get_if<Output>(&message)) {
    output_.add(*output);
  } else if (const auto* started = std::get_if<Started>(&message)) {
    ranks_[started->rank].pid = started->pid;
  } else if (const auto* exited = std::get_if<Exited>(&message)) {
    RankState& rank = ranks_[exited->rank];
    rank.status = exited->status;
    rank.host_word = exited->cause;
    detector_.rank_ended(exited->rank, exited->status, Clock::now());
    tell_lost(exited->rank);
    heartbeats_.rank_ended(exited->rank);
    if (exited->rank == 0) {
      input_.reset();
    }
  } else if (const auto* taken = std::get_if<StdinTaken>(&message)) {
    if (input_) {
      input_->taken(taken->bytes);
    }
  } else if (const auto* ask = std::get_if<AskStop>(&message)) {
    on_signal(ask->signal == SIGINT ? SIGINT : SIGTERM);
  }
}

void Supervisor::on_store(const StoreEvent& event) {
  detector_.store_event(event, Clock::now());
  if (event.rank >= 0) {
    if (const auto line = heartbeats_.store_event(event, ranks_.describe(event.rank), Clock::now());
        !line.empty()) {
      output_.say(line);
    }
  }
}

void Supervisor::on_signal(int number) {
  // Before there are ranks to save anything, a warning is the end.
  if ((number == SIGUSR1 || number == SIGUSR2) && phase_ == Phase::running) {
    agents_.send_to_all(SignalRanks{number});
    stop_signal_ = stop_signal_ == 0 ? number : stop_signal_;
    return;
  }
  if (number == SIGTSTP) {
    suspend();
    return;
  }
  interrupted_ |= number == SIGINT;
  const bool again = stop_requests_ > 0 || failure_;
  stop_signal_ = stop_requests_++ == 0 ? number : stop_signal_;
  if (phase_ != Phase::running) {
    phase_ = Phase::finished;
  } else if (again) {
    kill_ranks(number);
  } else {
    ask_to_stop(number);
  }
}

// Stopped together with the ranks, and back together. They are in sessions of their own, where the
// terminal's SIGTSTP would have no effect.
void Supervisor::suspend() {
  agents_.send_to_all(Suspend{true});
  agents_.send_to_all(SignalRanks{SIGSTOP});
  output_.leave_terminal();
  const auto stopped = Clock::now();
  ::raise(SIGSTOP);
  agents_.send_to_all(SignalRanks{SIGCONT});
  agents_.send_to_all(Suspend{false});
  heartbeats_.job_resumed(Clock::now());
  agents_.resumed();
  detector_.time_was_lost(Clock::now() - stopped);
}

void Supervisor::advance() {
  if (phase_ == Phase::finished) {
    return;
  }
  if (phase_ == Phase::preparing && agents_.all_ready()) {
    go();
  }
  if (!failure_ && stop_requests_ == 0) {
    if (auto trouble = agents_.trouble(options_.start_timeout)) {
      fail(std::move(*trouble));
    }
  }
  if (phase_ == Phase::connecting && agents_.all_in(HostPhase::greeted)) {
    probe();
  }
  if (phase_ == Phase::probing && probe_->done()) {
    probe_->reach().failure ? fail(*probe_->reach().failure) : prepare();
  } else if (phase_ == Phase::running) {
    supervise();
  }
}

void Supervisor::supervise() {
  const auto now = Clock::now();
  if (!failure_ && stop_requests_ == 0) {
    if (const auto root_cause = detector_.root_cause(now); root_cause && !others_go_on()) {
      fail(failure_of(*root_cause, ranks_.describe(root_cause->rank)));
    } else if (auto failure = never_joined()) {
      fail(std::move(*failure));
    } else if (auto silence = silent_too_long()) {
      fail(std::move(*silence));
    }
  }
  if (stop_at_ && Clock::now() >= *stop_at_) {  // fail() may just have set it to that moment
    stop_after_failure();
  }
  if (kill_at_ && now >= *kill_at_) {
    tell_end_of_grace();
  }
  if (output_.nobody_reads() && stop_requests_ == 0 && !failure_) {
    output_.say("bprun: nobody reads the output any more");
    on_signal(SIGPIPE);
  }
  const bool undecided = !failure_ && stop_requests_ == 0 && now < detector_.latest().value_or(now);
  if ((agents_.all_over() && !undecided) || (give_up_at_ && now >= *give_up_at_)) {
    phase_ = Phase::finished;
  }
}

std::optional<Failure> Supervisor::never_joined() const {
  const auto missing = detector_.missing(Clock::now(), options_.start_timeout);
  if (missing.empty()) {
    return std::nullopt;
  }
  Failure failure{.exit_code = kExitInternal, .rank = missing.front(), .headline = ""};
  failure.headline =
      concat(ranks_.describe(missing.front()), " has not joined the job within ",
             elapsed_text(options_.start_timeout), " of the first that did (--start-timeout)");
  for (std::size_t i = 1; i < missing.size(); ++i) {
    failure.more.push_back(concat("nor has ", ranks_.describe(missing[i])));
  }
  return failure;
}

std::optional<Failure> Supervisor::silent_too_long() const {
  const auto now = Clock::now();
  const auto rank = heartbeats_.too_long(now);
  return rank ? std::optional(heartbeats_.failure(*rank, ranks_.describe(*rank), now))
              : std::nullopt;
}

void Supervisor::fail(Failure failure) {
  failure_ = std::move(failure);
  if (failure_->rank >= 0) {
    failure_->hosts = {plan_.placement[host_of_rank(plan_.placement, failure_->rank)].host.name};
  }
  failed_at_ = std::chrono::system_clock::now();
  if (phase_ != Phase::running) {
    phase_ = Phase::finished;
    return;
  }
  failed_after_ = since(started_);
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (const auto note = heartbeats_.note(rank, ranks_.describe(rank), Clock::now());
        !note.empty() && rank != failure_->rank) {
      failure_->more.push_back(note);
    }
  }
  store_->fail_job({failure_->rank, failure_->headline});
  stop_at_ = Clock::now() + (detector_.anyone_joined() ? kOwnEnd : 0ms);
}

void Supervisor::stop_after_failure() {
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    const std::size_t host = host_of_rank(plan_.placement, rank);
    ranks_[rank].stopped_by_us = !ranks_[rank].status && agents_.phase(host) != HostPhase::lost;
  }
  stop_ranks(SIGTERM, kTermToKill);
}

// With --on-failure continue a job fails when none of its ranks comes to a good end.
bool Supervisor::others_go_on() const {
  return options_.survivors_go_on && (ranks_.any_ended_well() || ranks_.running() > 0);
}

void Supervisor::tell_lost(int rank) {
  const int status = ranks_[rank].status.value_or(0);
  if (status == 0 || !others_go_on() || failure_ || stop_requests_ > 0) {
    return;
  }
  output_.say(concat("bprun: ", ranks_.describe(rank), " ", describe_status(status),
                     "; the others may go on (--on-failure continue)"));
}

void Supervisor::ask_to_stop(int signal) {
  const int running = ranks_.running();
  output_.say(concat("bprun: ", signal_name(signal), ": stopping ", running,
                     running == 1 ? " rank" : " ranks", ", at most ", elapsed_text(options_.grace),
                     signal == SIGINT ? " (press Ctrl-C again to kill)" : ""));
  store_->request_stop();
  stop_ranks(SIGTERM, options_.grace);
  kill_at_ = Clock::now() + std::max<std::chrono::milliseconds>(options_.grace - kTellFirst, 0ms);
}

void Supervisor::kill_ranks(int signal) {
  if (const auto running = ranks_.running_ranks(); !running.empty()) {
    output_.say(concat("bprun: ", signal_name(signal), stop_requests_ > 1 ? " again" : "",
                       ": killing ", running.size() == 1 ? "rank " : "ranks ",
                       rank_ranges(running)));
  }
  stop_ranks(SIGKILL, 0ms);
}

// The agents have been told of the grace, and kill by themselves.
void Supervisor::tell_end_of_grace() {
  kill_at_.reset();
  if (const auto running = ranks_.running_ranks(); !running.empty()) {
    output_.say(concat("bprun: ", running.size() == 1 ? "rank " : "ranks ", rank_ranges(running),
                       running.size() == 1 ? " still runs after " : " still run after ",
                       elapsed_text(options_.grace), " (--grace): killing ",
                       running.size() == 1 ? "it" : "them"));
  }
}

void Supervisor::stop_ranks(int signal, std::chrono::milliseconds grace) {
  stop_at_.reset();
  kill_at_.reset();
  agents_.send_to_all(StopRanks{signal, static_cast<std::uint32_t>(grace.count())});
  stopping_since_ = stopping_since_.value_or(Clock::now());
  give_up_at_ = Clock::now() + grace + kAfterKill;
}

int Supervisor::exit_code() const {
  if (failure_) {
    return failure_->exit_code;
  }
  if (interrupted_) {
    return kExitInterrupted;
  }
  if (options_.survivors_go_on && stop_requests_ == 0 && ranks_.any_ended_well()) {
    return output_.has_lost() ? kExitOutputLost : 0;
  }
  const int code =
      started_ == Clock::time_point{} ? kExitSignal + stop_signal_ : ranks_.exit_code();
  return code == 0 && output_.has_lost() ? kExitOutputLost : code;
}

// For the machines that came by themselves: the whole truth is told here.
End Supervisor::farewell() const {
  if (!failure_) {
    return {exit_code(), ""};
  }
  return {exit_code(), concat("bprun: FAILED  ", failure_->headline,
                              "\n  the report is with bprun on ", own_host_name())};
}

// Processes of this job that came to us because their agent was killed. ssh's own helpers (a shared
// master connection) come to us too, and are left alone.
void Supervisor::kill_adopted() const {
  siginfo_t ended{};
  if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return;  // no child at all, so /proc with all processes of the machine need not be read
  }
  const std::string marker = concat("BP_JOB=", generation_.job);
  for (const ProcessEntry& process : descendants_of(::getpid())) {
    if (has_environment_entry(process.pid, marker.c_str())) {
      signal_process(process, SIGKILL);
    }
  }
}

}  // namespace bp::launcher
