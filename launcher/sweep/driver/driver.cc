#include "launcher/sweep/driver/driver.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/system/usable_cores.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/sweep/state/disk_space.h"

namespace bp::launcher::sweep {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 200ms;  // between two looks at reports and requests
constexpr auto kShow = 1s;

// Trials that are planned before there are slots for them, so that small ones can fill holes.
std::size_t lookahead(const Pool& pool) {
  return static_cast<std::size_t>(4 * pool.all_slots()) + 16;
}

std::int64_t size_of(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

}  // namespace

Driver::Driver(const SweepSettings& settings,
               SweepState& state,
               SignalFd& signals,
               Listener listener)
    : settings_(settings),
      state_(state),
      listener_(std::move(listener)),
      signals_(signals),
      trials_(state, direction_of(settings)),
      proposals_(settings),
      rule_(settings.space.stop, direction_of(settings)),
      pool_(hosts_of(settings.plan)) {
  loop_.watch(signals_.fd(), POLLIN, [this](short) {
    for (const int number : signals_.read()) {
      on_signal(number);
    }
  });
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    const bool local = settings_.plan.hosts[i].local;
    pool_.set_present(i, local);
    pool_.set_cores(i, local ? usable_cores().computing() : 0);
    state_.host({pool_.host(i).name, pool_.slots(i), local, local ? "" : "not reached yet"});
  }
  links_ = std::make_unique<HostLinks>(
      loop_, settings_.plan, settings_.bprun.start_timeout,
      HostLinks::Listener{
          [this](std::size_t host, int cores) { on_host(host, cores); },
          [this](std::size_t host, const std::string& why) { on_host_lost(host, why); }});
  state_.put_setting("relay_folder", links_->folder());
  state_.put_setting("all", std::to_string(proposals_.all()));
}

Driver::~Driver() = default;

int Driver::run() {
  try {
    return run_to_end();
  } catch (const Error& error) {
    const bool unwritable = error.code() == ErrorCode::io;
    abandon(error.what());
    if (!unwritable) throw;
    return *ending_;
  }
}

int Driver::run_to_end() {
  recover();
  if (const TrialRecord* best = trials_.best();
      best != nullptr && settings_.until && is_reached(*settings_.until, *best->result)) {
    stop_at_until(best->number);
  }
  while (!has_ended()) {
    schedule();
    loop_.run_once(kLook);
    check_hosts();
    on_tick();
  }
  take_all_reports();
  show();
  return ending_.value_or(trials_.count(TrialState::failed) > 0 ? 1 : 0);
}

Demand Driver::demand_of(int trial) const {
  const Block& block = settings_.space.blocks.at(static_cast<std::size_t>(trials_[trial].block));
  return {.trial = trial, .slots = block.slots, .spread = block.spread};
}

std::string Driver::folder_of(int trial) const { return trial_folder(settings_.folder, trial); }

void Driver::wait_for_slots(int trial) { waiting_.push_back(demand_of(trial)); }

void Driver::wait_until(int trial, std::chrono::milliseconds delay) {
  delayed_[trial] = Clock::now() + delay;
}

// Trials whose choice depends on results are planned only when there is room for them at once.
void Driver::propose() {
  while (waiting_.size() < lookahead(pool_)) {
    if (proposals_.learns()) {
      const auto free = pool_.view();
      const auto room = std::ranges::any_of(free, [](const HostSlots& it) { return it.free > 0; });
      if (!room || !waiting_.empty()) return;
    }
    const auto plan = proposals_.next([this](int block) { return trials_.histories_of(block); });
    if (!plan) return;
    proposals_.add(plan->block);
    wait_for_slots(trials_.add(*plan));
  }
}

// Paused trials that go on come before all that wait.
void Driver::promote() {
  if (trials_.count(TrialState::paused) == 0) {
    return;
  }
  std::vector<Demand> first;
  for (const std::size_t trial : rule_.promotable(trials_.histories())) {
    const int number = static_cast<int>(trial);
    trials_.update(number, [](TrialRecord& record) { record.state = TrialState::waiting; });
    first.push_back(demand_of(number));
  }
  waiting_.insert(waiting_.begin(), first.begin(), first.end());
}

void Driver::schedule() {
  if (ending_) {
    return;
  }
  while (true) {
    promote();
    propose();
    auto view = pool_.view();
    const auto chosen = starts(view, waiting_);
    if (chosen.empty()) return;
    for (const Start& start : chosen) {
      this->start(start);
    }
  }
}

// The record says that the trial runs before it does. If the sweep is killed in between, the next
// one finds neither a lock nor an end, and starts the trial again.
void Driver::start(const Start& start) {
  const std::string folder = folder_of(start.trial);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::io, concat("cannot make the folder ", folder, ": ", error.message()));
  }
  auto lease = pool_.take(start.parts);
  trials_.update(start.trial, [&](TrialRecord& record) {
    record.state = TrialState::running;
    ++record.attempts;
    record.reason.clear();
    record.asked = StopReason::none;
    record.hosts = pool_.shown(lease);
    record.attempt_started = wall_time();
    record.started = record.started > 0 ? record.started : record.attempt_started;
    record.output_offset = size_of(folder + "/stdout");
    record.error_offset = size_of(folder + "/stderr");
  });
  const TrialRecord& record = trials_[start.trial];
  Attempt attempt({.folder = folder,
                   .attempt = record.attempts,
                   .bprun = bprun_words(settings_, record, pool_, lease, links_->ssh())});
  loop_.watch(attempt.fd(), POLLIN, [this, trial = start.trial](short) { on_attempt_fd(trial); });
  running_.emplace(start.trial,
                   TrialRun{std::move(lease), std::move(attempt), metrics_of(settings_, record)});
}

// Also stops the paused trials that no promotion can reach any more.
bool Driver::has_ended() {
  if (!running_.empty() || !leftovers_.empty()) {
    return false;
  }
  if (ending_) {
    return true;
  }
  if (!waiting_.empty() || !delayed_.empty() || proposals_.next_block()) {
    return false;
  }
  if (!rule_.promotable(trials_.histories()).empty()) {
    return false;
  }
  for (int trial = 0; trials_.count(TrialState::paused) > 0 && trial < trials_.size(); ++trial) {
    if (trials_[trial].state == TrialState::paused) {
      trials_.update(trial, [](TrialRecord& record) {
        record.state = TrialState::stopped;
        record.reason = concat("not among the best at step ", record.step);
      });
    }
  }
  return true;
}

// A host that is lost later may return, but a name that was mistyped never does.
void Driver::check_hosts() {
  if (any_host_ || links_->any_pending()) {
    return;
  }
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    any_host_ |= pool_.present(i);
  }
  if (!any_host_) {
    throw Error(ErrorCode::unavailable, "no host could be reached, so no trial was started");
  }
}

void Driver::on_host(std::size_t host, int cores) {
  if (abandoned_) {
    return;
  }
  any_host_ = true;
  pool_.set_present(host, true);
  pool_.set_cores(host, cores);
  state_.host({pool_.host(host).name, pool_.slots(host), true});
  state_.event("the host is present", std::nullopt, pool_.host(host).name);
}

void Driver::on_host_lost(std::size_t host, const std::string& why) {
  if (abandoned_) {
    return;
  }
  pool_.set_present(host, false);
  const std::string& name = pool_.host(host).name;
  listener_.say(concat("host ", name, " is lost (", why, "); trying again"));
  state_.host({name, pool_.slots(host), false, why});
  state_.event(concat("the host is lost: ", why), std::nullopt, name);
}

void Driver::on_tick() {
  const auto now = Clock::now();
  if (now >= next_look_) {
    next_look_ = now + kLook;
    take_all_reports();
    handle_requests();
    look_at_leftovers();
    for (auto it = delayed_.begin(); it != delayed_.end();) {
      if (now < it->second) {
        ++it;
        continue;
      }
      wait_for_slots(it->first);
      it = delayed_.erase(it);
    }
    if (settings_.max_time && now - started_ >= *settings_.max_time) {
      stop_all("--max-hours has passed", 0);
    }
  }
  if (now >= next_show_) {
    next_show_ = now + kShow;
    if (const auto why = why_full(settings_.folder)) {
      throw Error(ErrorCode::io, *why);
    }
    show();
  }
}

void Driver::show() {
  int busy = 0;
  for (const auto& [trial, run] : running_) {
    for (const Part& part : run.lease.parts) busy += part.slots;
  }
  listener_.on_second({.trials = trials_,
                       .all = proposals_.all(),
                       .slots = pool_.all_slots(),
                       .busy = busy,
                       .elapsed = std::chrono::duration<double>(Clock::now() - started_).count(),
                       .ended = ended_});
}

}  // namespace bp::launcher::sweep
