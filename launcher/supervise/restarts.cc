#include "launcher/supervise/restarts.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/hex.h"
#include "base/hmac.h"
#include "base/quoted.h"
#include "base/text.h"
#include "launcher/process/signals.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/output_folder.h"
#include "launcher/supervise/restart_placement.h"
#include "launcher/supervise/supervisor.h"

namespace bp::launcher {
namespace {

constexpr std::chrono::milliseconds kFirstWait = 500ms;  // before a restart; doubled each time
constexpr std::chrono::milliseconds kLongestWait = 30s;

std::string random_job_name() { return to_hex(random_bytes()).substr(0, 12); }

// Waits for a signal that asks for an end, at most for `limit`. Returns 0 if none has come.
// Supervisor has blocked all of them.
int wait_for_signal(std::chrono::milliseconds limit) {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    ::sigaddset(&ends, number);
  }
  const Deadline deadline(limit);
  int number = 0;
  do {  // once more if a suspension of bprun interrupted the call
    const auto left = deadline.left();
    const timespec time{.tv_sec = left / 1s, .tv_nsec = (left % 1s) / 1ns};
    number = ::sigtimedwait(&ends, nullptr, &time);
  } while (number < 0 && errno == EINTR);
  return std::max(0, number);
}

// Whether a host was lost or could not be reached. A rank that ends with 75 is something else.
bool is_host_failure(const Ending& ending) {
  return ending.failure && ending.failure->rank < 0 && ending.exit_code == kExitTemporary;
}

Options with_output_folder(Options options, const std::string& job) {
  if (!options.output.empty()) {
    options.output = make_output_folder(options.output, job);
  }
  return options;
}

class Job {
 public:
  Job(const Options& options, JobPlan plan, JoinedMachines machines)
      : options_(with_output_folder(options, name_)),
        machines_(std::move(machines)),
        placement_(options, std::move(plan)) {}
  int run();

 private:
  void run_generation();
  [[nodiscard]] bool may_restart() const;
  void say(const std::string& line) const;
  [[nodiscard]] bool plan_next();
  [[nodiscard]] bool restart();
  [[nodiscard]] std::chrono::milliseconds wait_before_restart() const;
  void end_by_signal(int number);

  const std::string name_ = random_job_name();
  const Options options_;    // with the job's own folder for --output
  JoinedMachines machines_;  // of the first generation
  RestartPlacement placement_;
  Ending ending_;
  int generations_ = 0;  // that ran
  int restarts_ = 0;
  std::vector<std::string> history_;  // a line for each generation
};

int Job::run() {
  do {
    run_generation();
  } while (may_restart() && plan_next());
  if (restarts_ > 0) {
    std::string text = concat(restarts_, restarts_ == 1 ? " restart:" : " restarts:");
    for (const std::string& line : history_) {
      text += "\n  " + line;
    }
    say(text);
  }
  if (options_.max_restarts > 0 && !ending_.next.empty()) {
    std::fprintf(stderr, "bprun: %s\n", ending_.next.c_str());  // part of the report: even with -q
  }
  return ending_.exit_code;
}

void Job::run_generation() {
  const std::string name = generations_ == 0 ? name_ : concat(name_, "@", generations_);
  ending_ =
      Supervisor(options_, placement_.plan(), {generations_, name}, std::exchange(machines_, {}))
          .run();
  if (ending_.ran) {
    history_.push_back(concat("generation ", generations_, ", ",
                              describe(placement_.plan().placement), ": ",
                              ending_.failure ? ending_.failure->headline
                                              : concat("ended with code ", ending_.exit_code)));
    ++generations_;
  } else if (generations_ > 0 && ending_.stop_signal != 0) {
    end_by_signal(ending_.stop_signal);
  }
}

void Job::say(const std::string& line) const {
  if (!options_.quiet) {
    std::fprintf(stderr, "bprun: %s\n", printable(line).c_str());
  }
}

// The first start needs all hosts, so that a mistyped name fails at once.
bool Job::may_restart() const {
  if (options_.max_restarts == 0 || !ending_.failure) {
    return false;
  }
  return is_host_failure(ending_) ? generations_ > 0
                                  : ending_.ran && restart_may_help(ending_.exit_code);
}

// Chooses where the job continues after a failure. Returns false if it ends, after saying why.
bool Job::plan_next() {
  if (ending_.stop_signal != 0) {
    say(concat("received ", signal_name(ending_.stop_signal), " and does not restart the job"));
    return false;
  }
  const Failure& failure = *ending_.failure;
  if (ending_.ran) {
    placement_.hosts().look_again();
    placement_.hosts().failed(failure.hosts, failure.headline);
    return restart();
  }
  // No rank was started, so this costs no restart. It ends because each time another host must be
  // out of reach.
  if (placement_.hosts().not_reached(failure.hosts, failure.headline) && placement_.place()) {
    say(concat("continues with ", describe(placement_.plan().placement)));
    return true;
  }
  history_.push_back(concat("restart ", restarts_, " started no rank: ", failure.headline));
  return restart();
}

bool Job::restart() {
  if (restarts_ == options_.max_restarts) {
    say(concat(placement_.place() ? "" : concat(placement_.too_few(), "; "),
               "no restart is left (--max-restarts ", options_.max_restarts, ")"));
    return false;
  }
  placement_.hosts().look_again();
  if (!placement_.place()) {
    say(placement_.too_few());
    return false;
  }
  const auto wait = wait_before_restart();
  ++restarts_;
  say(concat("restart ", restarts_, " of ", options_.max_restarts, " in ", elapsed_text(wait),
             ", with ", describe(placement_.plan().placement), placement_.left_out("\nbprun: ")));
  if (const int number = wait_for_signal(wait); number != 0) {
    end_by_signal(number);
    return false;
  }
  return true;
}

std::chrono::milliseconds Job::wait_before_restart() const {
  const auto wait = std::min(kLongestWait, kFirstWait * (1 << std::min(restarts_, 10)));
  // Ranks on a lost host end once their agent counts bprun as lost. They must be gone first.
  return ending_.ran && is_host_failure(ending_)
             ? std::max(wait, lost_host_ends(options_.lost_after))
             : wait;
}

// The signal came while nothing of the job ran: it has saved all that it can save.
void Job::end_by_signal(int number) {
  say(concat("received ", signal_name(number), " and does not restart the job"));
  ending_.failure.reset();
  ending_.exit_code = number == SIGINT ? kExitInterrupted : kExitTemporary;
}

}  // namespace

bool restart_may_help(int exit_code) {
  static constexpr std::array kNever{kExitUsage,   kExitBadContent,    kExitNoInput, kExitTemporary,
                                     kExitSkipped, kExitNotExecutable, kExitNotFound};
  return std::find(kNever.begin(), kNever.end(), exit_code) == kNever.end();
}

int run_job(const Options& options, const JobPlan& plan, JoinedMachines machines) {
  return Job(options, plan, std::move(machines)).run();
}

}  // namespace bp::launcher
