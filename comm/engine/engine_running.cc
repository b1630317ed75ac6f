// The operations of an Engine that run on their device while the next begins. Only the thread that
// has the token is here. The progress thread keeps it until all of them have ended, so no other
// thread begins an operation beside them.
#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/text.h"
#include "bp/log.h"
#include "comm/engine/engine.h"
#include "comm/transport/transport.h"

namespace bp {
namespace {

// How often the progress thread looks at the device.
constexpr std::chrono::microseconds kShortestPause{20};
constexpr std::chrono::microseconds kLongestPause{1000};
// How often it does so while it waits for other ranks in the next operation.
constexpr std::chrono::milliseconds kBesideRunning{2};

}  // namespace

// An operation that needs the host, or another device, must find the results of those before it.
bool Engine::may_begin_beside_running(const Operation& operation) const {
  return running_.size() < RunningOperation::kMost &&
         operation.device == running_.front().operation.device &&
         setup().backends.on(operation.device).enqueues(operation);
}

void Engine::leave_running(Task task) {
  stall_after_ = std::min(kBesideRunning, setup().stall_after);
  running_.push_back({.operation = std::move(task.operation),
                      .state = std::move(task.state),
                      .entry_id = in_progress_.entry_id,
                      .record = in_progress_.record,
                      .sequence = supervisor_.sequence(),
                      .started = task.started,
                      .begin = steady_begin(),
                      .handover = std::exchange(handover_, {})});
}

void Engine::wait_for_running(std::unique_lock<std::mutex>& lock) {
  const std::size_t queued = queue_.size();
  const std::size_t running = running_.size();
  for (auto pause = kShortestPause;; pause = std::min(2 * pause, kLongestPause)) {
    lock.unlock();
    const bool some_run = look_at_running();
    lock.lock();
    if (!some_run) {
      is_busy_ = false;
      changed_.notify_all();
      return;
    }
    if (running_.size() != running || queue_.size() != queued) return;
    changed_.wait_for(lock, pause);
  }
}

bool Engine::look_at_running() {
  while (!running_.empty()) {
    std::exception_ptr error;
    try {
      if (!has_ended(running_.front())) return true;
    } catch (const std::exception&) {
      error = std::current_exception();
    }
    if (error) {
      fail_running(error);
      return false;
    }
    end_first_running(nullptr);
  }
  return false;
}

bool Engine::has_ended(RunningOperation& first) {
  if (state_.has_failed()) throw stopped(first);
  try {
    if (first.handover.end->reached()) return true;
  } catch (const DeviceFailure& failure) {
    throw failed_alone(first.operation, failure);
  } catch (const TransportFailure& why) {
    throw judged(first, [&](CollectiveSupervisor& supervisor, const CollectiveCall& call) {
      return supervisor.failed(call, -1, why);
    });
  }
  PausableTimeout& timeout = *first.handover.timeout;
  timeout.look();
  if (timeout.over()) {
    throw judged(first, [&](CollectiveSupervisor& supervisor, const CollectiveCall& call) {
      const std::shared_ptr<const DeviceEvent>& before = first.operation.after;
      if (before && !before->reached()) return supervisor.timed_out(call, setup().rank);
      return supervisor.timed_out_on_device(call);
    });
  }
  look_for_failed_group();
  return false;
}

// A group's abort() on another rank is seen only by those who look. A store that does not answer is
// not a failure of the operation.
void Engine::look_for_failed_group() {
  const auto now = Clock::now();
  if (now < next_look_at_group_) return;
  next_look_at_group_ = now + setup().stall_after;
  try {
    state_.look_for_failed_group();
  } catch (const Error& error) {
    log(LogLevel::debug, concat("could not look for a failed group: ", error.what()));
  }
}

Error Engine::stopped(const RunningOperation& running) const {
  return state_.stopped(concat("in ", describe(running.operation)));
}

// What goes wrong with an operation is judged as if it were the one in progress.
Error Engine::judged(const RunningOperation& running, const Judge& judge) {
  CollectiveSupervisor supervisor(state_, trace_, notes_, messages_);
  CallRecord record = running.record;
  const Header& header = supervisor.begin(running.sequence, running.operation, false, record);
  CallContext context;
  context.supervisor = &supervisor;
  context.record = &record;
  context.members = setup().members;
  context.rank = setup().rank;
  context.sequence = header.sequence;
  context.operation = &running.operation;
  context.timeout = setup().timeout_of(running.operation);
  context.stall_after = setup().stall_after;
  const CollectiveCall call(context);
  Error error = judge(supervisor, call);
  state_.failure().set(error);
  supervisor.leave_evidence(running.operation);
  return error;
}

void Engine::fail_running(std::exception_ptr error) {
  if (running_.empty()) return;
  setup().backends.on(running_.front().operation.device).abandon();
  while (!running_.empty()) {
    end_first_running(error ? error : std::make_exception_ptr(stopped(running_.front())));
    error = nullptr;
  }
}

void Engine::end_first_running(const std::exception_ptr& error) {
  const auto now = Clock::now();
  const std::lock_guard lock(state_.mutex());
  const RunningOperation first = std::move(running_.front());
  running_.pop_front();
  if (running_.empty()) {
    stall_after_ = setup().stall_after;
  } else {  // the next one ran behind it
    running_.front().begin = now;
    const auto timeout = setup().timeout_of(running_.front().operation);
    running_.front().handover.timeout.emplace(timeout, now);
  }
  state_.recorder().end(first.entry_id, !error, first.record, TickClock::now());
  if (trace_.is_on()) {
    trace_.add_collective(first.operation, first.sequence, first.record, first.begin, now);
    trace_.add_async(first.operation, first.started, now);
  }
  if (error) state_.set_failure_is_known();
  --unfinished_;
  changed_.notify_all();
  first.state->finish(error);
}

}  // namespace bp
