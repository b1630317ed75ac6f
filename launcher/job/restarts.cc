#include "launcher/job/restarts.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/job_key.h"
#include "comm/base/text.h"
#include "launcher/agent/timing.h"
#include "launcher/job/host_record.h"
#include "launcher/job/supervisor.h"
#include "launcher/process/signals.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

constexpr std::chrono::milliseconds kFirstWait = 500ms;  // before a restart; doubled each time
constexpr std::chrono::milliseconds kLongestWait = 30s;
// What runs on a host that was lost ends once its agent misses us too, and must be gone first.
constexpr std::chrono::milliseconds kLostHostEnds = kSilenceLimit + 2 * kHeartbeat;

void say(const std::string& line) { std::fprintf(stderr, "bprun: %s\n", line.c_str()); }

std::string random_job_name() {
  const JobKey random = random_job_key();
  std::string name;
  for (std::size_t i = 0; i < 12; ++i) {
    name += "0123456789abcdef"[random[i] & 15U];
  }
  return name;
}

// "1 rank", "3 restarts"
std::string count(int number, const std::string& what) {
  return concat(number, " ", what, number == 1 ? "" : "s");
}

// "3 ranks on a:2,b:1"
std::string describe(const std::vector<PlacedHost>& placement) {
  std::string text = count(world_size(placement), "rank");
  for (const PlacedHost& placed : placement) {
    text += concat(placed.first_rank == 0 ? " on " : ",", placed.host.name, ":", placed.ranks);
  }
  return text;
}

// The signal that asked for an end meanwhile; 0 for none. Supervisor has blocked them all.
int wait_for_signal(std::chrono::milliseconds limit) {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    ::sigaddset(&ends, number);
  }
  const timespec time{.tv_sec = limit / 1s, .tv_nsec = (limit % 1s) / 1ns};
  return std::max(0, ::sigtimedwait(&ends, nullptr, &time));
}

// Lost or out of reach, unlike a rank that leaves with that code.
bool host_trouble(const Ending& ending) {
  return ending.failure && ending.failure->rank < 0 && ending.exit_code == kExitTemporary;
}

class Job {
 public:
  Job(const Options& options, JobPlan plan)
      : options_(options),
        plan_(std::move(plan)),
        least_(options.min_ranks.value_or(world_size(plan_.placement))) {}
  int run();

 private:
  void run_generation();
  [[nodiscard]] bool may_go_on() const;
  [[nodiscard]] bool plan_next();
  [[nodiscard]] bool restart();
  [[nodiscard]] bool place();
  [[nodiscard]] std::string too_few() const;
  [[nodiscard]] std::chrono::milliseconds wait_before_restart() const;
  void end_by_signal(int number);

  const Options& options_;
  JobPlan plan_;  // of the generation that runs or will run next
  const int least_;
  const std::string name_ = random_job_name();
  HostRecord hosts_;
  std::set<std::string> left_out_;  // of plan_
  std::string no_plan_;             // why there is none
  Ending ending_;
  int generations_ = 0;  // that ran
  int restarts_ = 0;
  std::vector<std::string> history_;
};

int Job::run() {
  do {
    run_generation();
  } while (may_go_on() && plan_next());
  if (restarts_ > 0) {
    std::string text = concat(count(restarts_, "restart"), ":");
    for (const std::string& line : history_) {
      text += "\n  " + line;
    }
    say(text);
  }
  return ending_.exit_code;
}

void Job::run_generation() {
  const std::string name = generations_ == 0 ? name_ : concat(name_, "@", generations_);
  ending_ = Supervisor(options_, plan_, {generations_, name}).run();
  if (ending_.ran) {
    history_.push_back(concat("generation ", generations_, ", ", describe(plan_.placement), ": ",
                              ending_.failure ? ending_.failure->headline
                                              : concat("ended with code ", ending_.exit_code)));
    ++generations_;
  } else if (generations_ > 0 && ending_.stop_signal != 0) {
    end_by_signal(ending_.stop_signal);
  }
}

// At the first start all hosts are needed: who mistypes a name wants to know at once.
bool Job::may_go_on() const {
  if (options_.max_restarts == 0 || !ending_.failure) {
    return false;
  }
  return host_trouble(ending_) ? generations_ > 0 : ending_.ran && may_heal(ending_.exit_code);
}

// Where to go on after a failure; false where the job ends, and why has been said.
bool Job::plan_next() {
  if (ending_.stop_signal != 0) {
    say(concat(signal_name(ending_.stop_signal), " came: does not restart"));
    return false;
  }
  const Failure& failure = *ending_.failure;
  if (ending_.ran) {
    hosts_.look_again();
    hosts_.failed(failure.hosts, failure.headline);
    return restart();
  }
  hosts_.not_reached(failure.hosts, failure.headline);
  if (place()) {
    say(concat("goes on with ", describe(plan_.placement)));
    return true;
  }
  return restart();
}

bool Job::restart() {
  if (restarts_ == options_.max_restarts) {
    say(concat(place() ? "" : concat(too_few(), "; "), "no restart is left of ",
               options_.max_restarts, " (--max-restarts)"));
    return false;
  }
  hosts_.look_again();
  if (!place()) {
    say(too_few());
    return false;
  }
  const auto wait = wait_before_restart();
  ++restarts_;
  say(concat("restart ", restarts_, " of ", options_.max_restarts, " in ", elapsed_text(wait),
             ", with ", describe(plan_.placement)));
  for (const std::string& host : left_out_) {
    say(concat("host ", host, " is left out: it ", hosts_.trouble(host)));
  }
  if (const int number = wait_for_signal(wait); number != 0) {
    end_by_signal(number);
    return false;
  }
  return true;
}

// On all hosts but those out of reach and those that failed too often; the latter stay where the
// others hold too few ranks. False where that too is too few.
bool Job::place() {
  const auto out_of_reach = hosts_.out_of_reach();
  auto all_bad = hosts_.failed_too_often();
  all_bad.insert(out_of_reach.begin(), out_of_reach.end());
  for (const auto& without : {all_bad, out_of_reach}) {
    auto plan = make_plan_without(options_, without);
    if (const auto* exit = std::get_if<EarlyExit>(&plan)) {
      no_plan_ = exit->text;
      return false;
    }
    plan_ = std::get<JobPlan>(std::move(plan));
    left_out_ = without;
    if (world_size(plan_.placement) >= least_) {
      return true;
    }
  }
  return false;
}

std::string Job::too_few() const {
  if (!no_plan_.empty()) {
    return concat("cannot restart: ", no_plan_);
  }
  std::string text = concat("cannot restart: there is room for ", describe(plan_.placement),
                            ", and --min-ranks is ", least_);
  for (const std::string& host : left_out_) {
    text += concat("; host ", host, " ", hosts_.trouble(host));
  }
  return text;
}

std::chrono::milliseconds Job::wait_before_restart() const {
  const auto wait = std::min(kLongestWait, kFirstWait * (1 << std::min(restarts_, 10)));
  return ending_.ran && host_trouble(ending_) ? std::max(wait, kLostHostEnds) : wait;
}

// While nothing of the job runs: what it has saved is all that there is to save.
void Job::end_by_signal(int number) {
  say(concat(signal_name(number), ": does not restart"));
  ending_.failure.reset();
  ending_.exit_code = number == SIGINT ? kExitInterrupted : kExitTemporary;
}

}  // namespace

bool may_heal(int exit_code) {
  static constexpr std::array kNever{kExitUsage,     kExitBadContent,    kExitNoInput,
                                     kExitTemporary, kExitNotExecutable, kExitNotFound};
  return std::find(kNever.begin(), kNever.end(), exit_code) == kNever.end();
}

int run_job(const Options& options, const JobPlan& plan) { return Job(options, plan).run(); }

}  // namespace bp::launcher
