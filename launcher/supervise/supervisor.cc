#include "launcher/supervise/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "base/keys/job_key.h"
#include "base/text.h"
#include "launcher/agent/join_key.h"
#include "launcher/cli/next_command.h"
#include "launcher/failure/rank_texts.h"
#include "launcher/process/process_tree.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/likely_cause.h"

namespace bp::launcher {
namespace {

// The store notifies the ranks that have joined it of a failure. They have this long to write down
// what they were doing and to end before bprun signals them.
constexpr auto kOwnEnd = 250ms;
constexpr auto kAgentsEnd = 2s;  // for the agents to end once their work is done
constexpr std::size_t kReportedLines = 20;

void add_stopped_ranks(FailureReport& report, const RankStates& ranks) {
  report.stop_signal = "SIGTERM";
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].stopped_after_failure) {
      report.stopped.push_back(rank);
      const int status = ranks[rank].status.value_or(0);
      if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        report.stop_signal = "SIGKILL";
      }
    }
  }
}

// Fills all of a report but `next`. `stop_took` is how long the other ranks took to stop. Reads the
// last stderr of the failed rank from `output` and takes a hint from it if the failure has none.
FailureReport make_report(const GenerationFailure& failed,
                          const RankStates& ranks,
                          const OutputHub& output,
                          std::chrono::milliseconds stop_took,
                          std::map<int, std::string> collectives_in_flight) {
  FailureReport report;
  report.failure = failed.failure;
  report.when = failed.when;
  report.after = failed.after;
  report.stop_took = stop_took;
  report.under_way = std::move(collectives_in_flight);
  add_stopped_ranks(report, ranks);
  if (const int rank = failed.failure.rank; rank >= 0) {
    report.last_errors = output.last_errors(rank, kReportedLines);
    report.error_file = output.error_file(rank);
    if (report.failure.hint.empty()) {
      report.failure.hint =
          likely_cause({failed.failure.exit_code, ranks[rank].cause_on_host, report.last_errors});
    }
  }
  return report;
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
               .limit = options.output_limit,
               .shown = options.shown_ranks,
               .quiet = options.quiet,
               .colours = options.colours,
               .stderr_counts = options.stderr_counts},
              [this](int rank, std::uint32_t bytes) {
                agents_.output_taken(host_of_rank(plan_.placement, rank), bytes);
              }),
      monitor_(plan.placement, options),
      agents_(loop_,
              plan,
              std::move(machines_.machines),
              options.lost_after,
              [this](std::size_t host, const ToLauncher& message) { on_message(host, message); }),
      setup_({loop_, options_, plan_, generation_, agents_, output_},
             machines_.key ? key_of_job(*machines_.key, generation.job) : random_job_key(),
             monitor_.silence_limit(),
             [this](const StoreEvent& event) { on_store_event(event); }),
      stop_({options_, plan_, agents_, monitor_.ranks(), output_}) {
  loop_.watch(signals_.fd(), POLLIN, [this](short) {
    for (const int number : signals_.read()) {
      on_signal(number);
    }
  });
}

Supervisor::~Supervisor() {
  agents_.close(kAgentsEnd);
  kill_orphans_of(generation_.job);
}

Ending Supervisor::run() {
  advance();  // agents of machines that joined have said hello already
  while (phase_ != Phase::finished) {
    loop_.run_once(time_to_next_step());
    advance();
  }
  const auto stop_took = stop_.took();
  dismiss_agents();
  print_outcome(stop_took);
  return {.exit_code = exit_code(),
          .ran = started_.has_value(),
          .stop_signal = stop_signal_,
          .failure = failed_ ? std::optional(failed_->failure) : std::nullopt,
          .next = failed_ ? next_command() : ""};
}

// --- events ---

void Supervisor::on_message(std::size_t host, const ToLauncher& message) {
  if (const auto* ready = std::get_if<ProbeReady>(&message)) {
    setup_.handle(host, *ready);
  } else if (const auto* report = std::get_if<ProbeReport>(&message)) {
    setup_.handle(host, *report);
  } else if (const auto* ask = std::get_if<AskStop>(&message)) {
    on_signal(ask->signal == SIGINT ? SIGINT : SIGTERM);
  } else {
    on_rank_message(message);
  }
}

void Supervisor::on_rank_message(const ToLauncher& message) {
  if (const auto* output = std::get_if<Output>(&message)) {
    output_.add(*output);
  } else if (const auto* started = std::get_if<Started>(&message)) {
    monitor_.ranks()[started->rank].pid = started->pid;
  } else if (const auto* exited = std::get_if<Exited>(&message)) {
    on_rank_ended(*exited);
  } else if (const auto* taken = std::get_if<StdinTaken>(&message); taken && input_) {
    input_->taken(taken->bytes);
  }
}

void Supervisor::on_rank_ended(const Exited& exited) {
  monitor_.rank_ended(exited, Clock::now());
  if (const auto line = monitor_.loss_line(exited.rank); !line.empty() && !stopping()) {
    output_.say(line);
  }
  if (exited.rank == 0) {
    input_.reset();
  }
}

void Supervisor::on_store_event(const StoreEvent& event) {
  if (const auto line = monitor_.store_event(event, Clock::now()); !line.empty()) {
    output_.say(line);
  }
}

void Supervisor::on_signal(int number) {
  if (number == SIGTSTP) {
    suspend();
    return;
  }
  // SIGUSR1 and SIGUSR2 warn the ranks. Before there are ranks to save anything, they end the job.
  if ((number == SIGUSR1 || number == SIGUSR2) && phase_ == Phase::running) {
    agents_.send_to_all(SignalRanks{number});
    stop_signal_ = stop_signal_ == 0 ? number : stop_signal_;
    return;
  }
  request_stop(number);
}

// --- steps ---

// Called after every round of events.
void Supervisor::advance() {
  if (phase_ == Phase::finished) {
    return;
  }
  if (phase_ == Phase::setup && setup_.done()) {
    start_ranks();
  }
  if (!stopping()) {
    if (auto trouble = agents_.trouble(options_.start_timeout)) {
      fail(std::move(*trouble));
    }
  }
  if (phase_ == Phase::setup) {
    if (auto failure = setup_.advance()) {
      fail(std::move(*failure));
    }
  } else if (phase_ == Phase::running) {
    look_for_failure();
    stop_.advance();
    look_for_end();
  }
}

void Supervisor::start_ranks() {
  if (agents_.size() > 1) {  // a single agent had its Go from JobSetup
    agents_.send_to_all(Go{});
  }
  if (options_.forward_stdin) {
    input_ = std::make_unique<InputForwarder>(loop_, STDIN_FILENO, [this](std::string data) {
      agents_.send(0, StdinData{std::move(data)});
    });
  } else {
    agents_.send(0, StdinData{});  // its end
  }
  started_ = Clock::now();
  phase_ = Phase::running;
}

void Supervisor::look_for_failure() {
  if (stopping()) {
    return;
  }
  if (auto failure = monitor_.failure(Clock::now())) {
    fail(std::move(*failure));
  } else if (output_.has_no_reader()) {
    output_.say("bprun: no process reads the output any more");
    on_signal(SIGPIPE);
  }
}

void Supervisor::look_for_end() {
  const auto now = Clock::now();
  const bool undecided = !stopping() && now < monitor_.decides_at().value_or(now);
  if ((agents_.all_over() && !undecided) || stop_.overdue()) {
    phase_ = Phase::finished;
  }
}

// Some steps are due at a time and not after an event.
std::chrono::milliseconds Supervisor::time_to_next_step() const {
  const auto now = Clock::now();
  auto next = now + 1s;
  for (const auto& time : {monitor_.decides_at(), stop_.next_time()}) {
    if (time && *time > now) {
      next = std::min(next, *time);
    }
  }
  return std::chrono::ceil<std::chrono::milliseconds>(next - now);
}

void Supervisor::fail(Failure failure) {
  if (failure.rank >= 0) {
    failure.hosts = {plan_.placement[host_of_rank(plan_.placement, failure.rank)].host.name};
  }
  failed_ = GenerationFailure{.failure = std::move(failure)};
  if (phase_ != Phase::running) {
    phase_ = Phase::finished;
    return;
  }
  Failure& told = failed_->failure;
  failed_->after = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - *started_);
  for (std::string& line : monitor_.silent_lines(told.rank, Clock::now())) {
    told.more.push_back(std::move(line));
  }
  setup_.store()->fail({told.rank, told.headline});
  stop_.after_failure(monitor_.any_joined() ? kOwnEnd : 0ms);
}

void Supervisor::request_stop(int signal) {
  interrupted_ |= signal == SIGINT;
  const bool again = stopping();
  stop_signal_ = stop_requests_++ == 0 ? signal : stop_signal_;
  if (phase_ != Phase::running) {
    phase_ = Phase::finished;
  } else if (again) {
    stop_.kill(signal, stop_requests_ > 1);
  } else {
    setup_.store()->request_stop();
    stop_.request(signal);
  }
}

// Stops bprun together with the ranks, and continues them when bprun continues. The ranks are in
// sessions of their own, where the terminal's SIGTSTP would have no effect.
void Supervisor::suspend() {
  agents_.send_to_all(Suspend{true});
  agents_.send_to_all(SignalRanks{SIGSTOP});
  output_.leave_terminal();
  const auto stopped = Clock::now();
  ::raise(SIGSTOP);
  agents_.send_to_all(SignalRanks{SIGCONT});
  agents_.send_to_all(Suspend{false});
  agents_.resumed();
  const auto now = Clock::now();
  monitor_.job_resumed(now - stopped, now);
}

// --- the end ---

// Machines that joined may have other users, who learn from this message how the job ended.
void Supervisor::dismiss_agents() {
  End end{.exit_code = exit_code(), .text = ""};
  if (failed_) {
    end.text = concat("bprun: FAILED  ", failed_->failure.headline,
                      "\n  the report is with bprun on ", own_host_name());
  }
  agents_.dismiss(end, kAgentsEnd);
  agents_.close(kAgentsEnd);
}

void Supervisor::print_outcome(std::chrono::milliseconds stop_took) {
  if (failed_) {
    auto report = make_report(*failed_, monitor_.ranks(), output_, stop_took,
                              setup_.store() == nullptr ? std::map<int, std::string>()
                                                        : setup_.store()->collectives_in_flight());
    report.next = options_.max_restarts == 0 ? next_command() : "";
    output_.say_report(format_report(report));
  } else if (stop_requests_ > 0) {
    for (const std::string& end : monitor_.ranks().bad_ends()) {
      output_.say(concat("bprun: ", end, " when asked to stop"));
    }
  } else if (const auto ranks = monitor_.left_without_goodbye(); !ranks.empty()) {
    output_.say(left_silently(ranks));
  }
  output_.show_all();
  write_out();
  output_.say_losses();
  write_out();
}

// A signal ends the wait for a terminal that takes no output.
void Supervisor::write_out() {
  const int requests = stop_requests_;
  while (!output_.all_written() && stop_requests_ == requests) {
    loop_.run_once();
  }
}

int Supervisor::exit_code() const {
  if (failed_) {
    return failed_->failure.exit_code;
  }
  if (interrupted_) {
    return kExitInterrupted;
  }
  const RankStates& ranks = monitor_.ranks();
  if (stop_requests_ > 0 && started_ && ranks.running() > 0) {
    return kExitTemporary;  // their host was lost during the stop, so nothing says how they ended
  }
  const bool survived =
      options_.survivors_continue && stop_requests_ == 0 && ranks.any_ended_well();
  const int code = survived ? 0 : started_ ? ranks.exit_code() : kExitSignal + stop_signal_;
  // Without a reader, bprun itself sends the ranks SIGTERM.
  if (output_.has_no_reader() && (code == 0 || code == kExitSignal + SIGTERM)) {
    return kExitSignal + SIGPIPE;
  }
  return code == 0 && output_.has_lost() ? kExitOutputLost : code;
}

// Empty if something has to be fixed first, so that the same command would fail: if no rank was
// started, or the program refused its options or its input before it said how to resume.
std::string Supervisor::next_command() const {
  if (!started_) return "";
  const std::string resume = setup_.store()->resume_arguments();
  const int code = failed_ ? failed_->failure.exit_code : 0;
  const bool refused = code == kExitUsage || code == kExitBadContent || code == kExitNoInput;
  return refused && resume.empty()
             ? ""
             : launcher::next_command({.own = options_.own, .program = options_.program}, resume);
}

}  // namespace bp::launcher
