// Driver: what happens to trials that report, end, or were left by a killed sweep.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/exit_code.h"
#include "launcher/supervise/restarts.h"
#include "launcher/sweep/driver/driver.h"
#include "launcher/sweep/driver/failure_line.h"
#include "launcher/sweep/state/disk_space.h"
#include "launcher/sweep/trial/attempt.h"

namespace bp::launcher::sweep {
namespace {

// A trial that was killed did not fail by itself, so it gets this many attempts more even without
// --max-restarts.
constexpr int kKilledRestarts = 2;
constexpr int kExitKilled = kExitSignal + SIGKILL;

}  // namespace

// Continues the trials that an earlier sweep left. An attempt of a killed sweep received SIGTERM,
// and may still end. What the sweep had asked it before, or now decides on reports that the killed
// one did not read, holds as if the sweep had not been killed.
void Driver::recover() {
  std::vector<Demand> promoted;  // which continue before all others, as in promote()
  for (int trial = 0; trial < trials_.size(); ++trial) {
    const TrialState state = trials_[trial].state;
    proposals_.add(trials_[trial].block);
    if (state == TrialState::waiting && trials_[trial].asked == StopReason::rung) {
      promoted.push_back(demand_of(trial));
    } else if (state == TrialState::waiting) {
      wait_for_slots(trial);
    } else if (state == TrialState::running) {
      leftovers_[trial] = Clock::now() + settings_.bprun.grace + 15s;
    }
  }
  waiting_.insert(waiting_.begin(), promoted.begin(), promoted.end());
  if (!leftovers_.empty()) {
    state_.event(concat("the sweep continues; ", leftovers_.size(), " trials had not ended"),
                 std::nullopt);
  }
  look_at_leftovers();
  handle_requests();  // those that came while no sweep ran
}

void Driver::look_at_leftovers() {
  for (auto it = leftovers_.begin(); it != leftovers_.end();) {
    const auto [trial, deadline] = *it;
    if (attempt_runs(folder_of(trial))) {
      if (Clock::now() >= deadline) {
        throw Error(ErrorCode::timeout,
                    concat("trial ", trial, " of an earlier sweep does not end: a process holds ",
                           folder_of(trial), "/lock; end it, and start the sweep again"));
      }
      ++it;
      continue;
    }
    it = leftovers_.erase(it);
    const TrialRecord& record = trials_[trial];
    auto files = metrics_of(settings_, record);
    take(trial, read_reports(files, true));
    const auto end = read_exit_record(folder_of(trial));
    const bool known = end && end->attempt == record.attempts;
    judge(trial,
          {.exit_code = known ? end->exit_code : kExitTemporary,
           .stopped = record.asked == StopReason::none ? StopReason::sweep_ends : record.asked,
           .seconds = std::max(0.0, wall_time() - record.attempt_started)});
    if (trials_[trial].state == TrialState::waiting) wait_for_slots(trial);
  }
}

void Driver::on_attempt_fd(int trial) {
  TrialRun& run = running_.at(trial);
  const int fd = run.attempt.fd();
  const auto code = run.attempt.exit_code();
  if (!code) {
    return;
  }
  loop_.forget(fd);
  const auto end = read_exit_record(folder_of(trial));
  const bool known = end && end->attempt == trials_[trial].attempts;
  on_ended(trial, known ? end->exit_code : kExitKilled);
}

void Driver::on_ended(int trial, int exit_code) {
  auto run = running_.extract(trial);
  take(trial, read_reports(run.mapped().metrics, true));
  pool_.give_back(run.mapped().lease);
  ++ended_;
  judge(trial,
        {.exit_code = exit_code,
         .stopped = trials_[trial].asked,
         .seconds = std::chrono::duration<double>(Clock::now() - run.mapped().began).count()});
  link_best();
}

void Driver::judge(int trial, const AttemptEnd& end) {
  if (end.exit_code != 0 && end.stopped == StopReason::none) {
    fail_or_restart(trial, end);
    return;
  }
  trials_.update(trial, [&](TrialRecord& record) {
    record.ended = wall_time();
    record.seconds += end.seconds;
    record.exit_code = end.exit_code;
    if (end.exit_code == 0) {
      record.state = TrialState::finished;
    } else if (end.stopped == StopReason::sweep_ends) {
      record.state = TrialState::waiting;
    } else if (end.stopped == StopReason::rung) {
      record.state = TrialState::paused;
    } else {
      record.state = TrialState::stopped;
      record.reason = end.stopped == StopReason::user
                          ? "bprun sweep stop"
                          : concat("the stopping rule, at step ", record.step);
    }
  });
}

// A trial that fails on a full disk is not to blame: the error thrown here leaves it to the next
// sweep.
void Driver::check_disk(int trial) const {
  if (const auto why = why_not_writable(settings_.folder)) {
    throw Error(ErrorCode::io, concat("trial ", trial, " failed, and the sweep ", *why));
  }
}

void Driver::fail_or_restart(int trial, const AttemptEnd& end) {
  const int exit_code = end.exit_code;
  check_disk(trial);
  const FailureLine failure =
      read_failure(folder_of(trial) + "/stderr", trials_[trial].error_offset);
  const bool lost = failure.lost_host && exit_code == kExitTemporary;
  const int allowed = exit_code == kExitKilled ? std::max(kKilledRestarts, settings_.max_restarts)
                                               : settings_.max_restarts;
  bool again = false;
  trials_.update(trial, [&](TrialRecord& record) {
    record.ended = wall_time();
    record.seconds += end.seconds;
    record.exit_code = exit_code;
    record.failures += lost ? 0 : 1;
    again = lost || (restart_may_help(exit_code) && record.failures <= allowed);
    record.state = again                       ? TrialState::waiting
                   : exit_code == kExitSkipped ? TrialState::skipped
                                               : TrialState::failed;
    record.reason = failure.text.empty() ? concat("ended with code ", exit_code) : failure.text;
    if (record.state == TrialState::skipped && !failure.said.empty()) record.reason = failure.said;
  });
  const TrialRecord& record = trials_[trial];
  state_.event(record.reason, trial, failure.host);
  for (std::size_t host = 0; lost && host < pool_.size(); ++host) {
    if (pool_.host(host).name == failure.host) links_->lose(host, record.reason);
  }
  if (record.state == TrialState::skipped) return;
  if (!again) {
    listener_.say(concat("trial ", trial, " failed (", shown(record.parameters),
                         "): ", record.reason, failure.said.empty() ? "" : ": " + failure.said,
                         "; see ", folder_of(trial), "/stderr"));
  } else if (lost) {
    // Its ranks on a lost host end once their agent counts the sweep as lost.
    wait_until(trial, lost_host_ends(settings_.bprun.lost_after));
  } else {
    wait_for_slots(trial);
  }
}

void Driver::take_all_reports() {
  for (auto& [trial, run] : running_) {
    const StopReason before = trials_[trial].asked;
    const auto reports = read_reports(run.metrics);
    take(trial, reports);
    if (before == StopReason::none && trials_[trial].asked != before) {
      ask_to_stop(run);
    }
    if (settings_.until && std::ranges::any_of(reports, [&](const Report& report) {
          return is_reached(*settings_.until, report.value);
        })) {
      stop_at_until(trial);
    }
  }
}

// Writes the reports down, each with the decision that it brings about.
void Driver::take(int trial, const std::vector<Report>& reports) {
  if (reports.empty()) {
    return;
  }
  trials_.report(trial, reports, [&] {
    switch (rule_.decide(static_cast<std::size_t>(trial), trials_.histories())) {
      case Decision::stop:
        return StopReason::rule;
      case Decision::pause_at_rung:
        return StopReason::rung;
      case Decision::go_on:
        break;
    }
    return StopReason::none;
  });
}

void Driver::handle_requests() {
  for (const Request& request : state_.take_requests()) {
    if (request.trial >= 0 && request.trial < trials_.size()) handle(request);
  }
}

void Driver::handle(const Request& request) {
  const TrialState state = trials_[request.trial].state;
  if (request.what == "stop" && state == TrialState::running) {
    if (running_.contains(request.trial)) stop_trial(request.trial, StopReason::user);
  } else if (request.what == "stop" &&
             (state == TrialState::waiting || state == TrialState::paused)) {
    std::erase_if(waiting_, [&](const Demand& it) { return it.trial == request.trial; });
    delayed_.erase(request.trial);
    trials_.update(request.trial, [](TrialRecord& record) {
      record.state = TrialState::stopped;
      record.reason = "bprun sweep stop";
    });
  } else if (request.what == "retry" && may_be_retried(state)) {
    trials_.update(request.trial, [](TrialRecord& record) {
      record.state = TrialState::waiting;
      record.failures = 0;
      record.reason.clear();
    });
    wait_for_slots(request.trial);
  }
}

// `best` leads to the folder of the best trial; for bert_train to its model, or to the best
// checkpoint of a run that was stopped.
void Driver::link_best() {
  const TrialRecord* const best = trials_.best();
  if (best == nullptr || running_.contains(best->number)) return;
  std::string target = concat("trials/", best->number);
  if (trains(settings_, best->block)) {
    const auto exists = [&](const std::string& folder) {
      std::error_code error;
      return std::filesystem::exists(concat(settings_.folder, "/", target, folder), error);
    };
    const char* const model = exists("/run/model") ? "/run/model" : "/run/checkpoints/best";
    if (!exists(model)) return;
    target += model;
  }
  if (target == linked_) return;
  const std::string link = settings_.folder + "/best";
  const std::string part = link + ".part";
  ::unlink(part.c_str());
  if (::symlink(target.c_str(), part.c_str()) == 0 && ::rename(part.c_str(), link.c_str()) == 0) {
    linked_ = target;
  }
}

}  // namespace bp::launcher::sweep
