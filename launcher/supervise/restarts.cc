#include "launcher/supervise/restarts.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/deadline.h"
#include "base/hex.h"
#include "base/keys/hmac.h"
#include "base/quoted.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/cli/bprun_options.h"
#include "launcher/failure/host_record.h"
#include "launcher/plan/job_plan.h"
#include "launcher/process/signals.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"
#include "launcher/supervise/supervisor.h"

namespace bp::launcher {
namespace {

namespace fs = std::filesystem;

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

std::string name_of_folder(const std::string& job) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S-", &local);
  return concat(text.data(), job);
}

// Replaces the link by a rename, so that it always points to a folder.
void point_latest(const fs::path& parent, const std::string& folder) {
  const fs::path made = parent / concat(".latest-", folder);
  if (::symlink(folder.c_str(), made.c_str()) == 0 &&
      ::rename(made.c_str(), (parent / "latest").c_str()) != 0) {
    ::unlink(made.c_str());
  }
}

// Creates DIR/20261123-004507-JOB, points the link DIR/latest to it, and returns the folder. `job`
// is the job's name, so that two jobs never share a folder. Throws io naming the path if it cannot
// be created. Leaves a `latest` that is not a link alone.
std::string make_output_folder(const std::string& parent, const std::string& job) {
  const std::string name = name_of_folder(job);
  const fs::path folder = fs::path(parent) / name;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::io, concat("--output: cannot make the folder ", folder.string(), ": ",
                                      error.message(), "; name another folder, or one with room"));
  }
  point_latest(parent, name);
  return folder.string();
}

Options with_output_folder(Options options, const std::string& job) {
  if (!options.output.empty()) {
    options.output = make_output_folder(options.output, job);
  }
  return options;
}

// "3 ranks on a:2,b:1"
std::string describe(const std::vector<PlacedHost>& placement) {
  const int ranks = world_size(placement);
  std::string text = concat(ranks, ranks == 1 ? " rank" : " ranks");
  for (const PlacedHost& placed : placement) {
    text += concat(placed.first_rank == 0 ? " on " : ",", placed.host.name, ":", placed.ranks);
  }
  return text;
}

// Where the next generation of a job runs: which hosts take part, and which ranks each gets.
class RestartPlacement {
 public:
  // `plan` is that of the first generation. `options` must outlive this.
  RestartPlacement(const Options& options, JobPlan plan)
      : options_(options),
        plan_(std::move(plan)),
        least_(options.min_ranks.value_or(world_size(plan_.placement))) {}

  [[nodiscard]] const JobPlan& plan() const { return plan_; }
  [[nodiscard]] HostRecord& hosts() { return hosts_; }

  // Looks the hosts up again and places the ranks on them. Leaves out the hosts that are out of
  // reach, and those that failed too often unless the others hold too few ranks. Returns false if
  // all together hold too few, or if the hosts cannot be looked up any more.
  [[nodiscard]] bool place() {
    const auto out_of_reach = hosts_.out_of_reach();
    auto all_bad = hosts_.failed_too_often();
    all_bad.insert(out_of_reach.begin(), out_of_reach.end());
    no_plan_.clear();
    for (const auto& without : {all_bad, out_of_reach}) {
      auto plan = make_plan_without(options_, without);
      if (const auto* exit = std::get_if<EarlyExit>(&plan)) {
        no_plan_ = exit->text.substr(std::string_view("bprun: ").size());
        return false;
      }
      plan_ = std::get<JobPlan>(std::move(plan));
      left_out_ = without;
      if (world_size(plan_.placement) >= least_) return true;
    }
    return false;
  }
  // Why place() returned false, in one line.
  [[nodiscard]] std::string too_few() const {
    if (!no_plan_.empty()) return concat("cannot restart: ", no_plan_);
    return concat("cannot restart: there is room for ", describe(plan_.placement),
                  ", and --min-ranks is ", least_, left_out("; "));
  }
  // The hosts that plan() leaves out, and why: `before` and a text for each.
  [[nodiscard]] std::string left_out(const std::string& before) const {
    std::string text;
    for (const std::string& host : left_out_) {
      text += concat(before, "host ", host, " is left out: it ", hosts_.trouble(host));
    }
    return text;
  }

 private:
  const Options& options_;
  JobPlan plan_;
  const int least_;  // ranks with which the job may restart
  HostRecord hosts_;
  std::set<std::string> left_out_;
  std::string no_plan_;  // why the hosts could not be looked up; empty: they were
};

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
