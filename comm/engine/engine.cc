#include "comm/engine/engine.h"

#include <utility>

#include "base/pausable_timeout.h"
#include "base/text.h"
#include "base/thread.h"
#include "comm/backend/perform.h"
#include "comm/engine/work_state.h"

namespace bp {
Engine::Engine(EngineSetup setup) : setup_(std::move(setup)) {
  messages_ = std::make_unique<Messages>(*this);
  failure_.on_set([this] { messages_->wake(); });
  if (!setup_.job) return;
  agreement_.emplace(setup_.job->store(), setup_.group, setup_.members);
  setup_.job->add(failure_);
}

Engine::~Engine() {
  failure_.set({ErrorCode::aborted, "the communicator was destroyed"});
  if (setup_.job) setup_.job->transport().wake();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (setup_.job) setup_.job->remove(failure_);
  messages_.reset();
}

Error Engine::refusal(const Error& failure, const Operation* next) const {
  if (failure.code() == ErrorCode::mismatch) return failure;  // the same on all ranks
  return {failure.code(), concat(rank_text(setup_.rank), " did not ",
                                 next == nullptr ? "finish" : concat("begin ", describe(*next)),
                                 ": ", failure.what())};
}

void Engine::refuse_if_over(const Operation* next) {
  if (failure_.flag().load(std::memory_order_acquire)) {
    const Error failure = *failure_.get();
    if (!std::exchange(told_, true)) {
      leave_record(recorder_.recent());
      throw refusal(failure, next);
    }
    throw Error(ErrorCode::aborted,
                concat("this communicator has already failed: ", failure.what()));
  }
  if (finished_) throw Error(ErrorCode::aborted, "this communicator has finished");
}

void Engine::run(const Operation& operation) {
  {
    std::unique_lock lock(mutex_);
    refuse_if_over(&operation);
    wait_until_idle(lock);  // what was started before comes first
    enter(operation);
    blocking_ = true;
  }
  try {
    execute(operation);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    leave(operation, /*good=*/false);
    throw;
  }
  const std::lock_guard lock(mutex_);
  leave(operation, /*good=*/true);
}

void Engine::enter(const Operation& operation) {
  busy_ = true;
  call_record_ = {};
  entered_ = FlightRecorder::Clock::now();
  ticket_ = recorder_.begin(operation, sequence_, entered_);
}

void Engine::leave(const Operation& operation, bool good) {
  const auto now = FlightRecorder::Clock::now();
  recorder_.end(ticket_, good, call_record_, now);
  if (setup_.trace) draw(operation, now);
  busy_ = false;
  blocking_ = false;
  told_ = told_ || !good;
  changed_.notify_all();
}

std::shared_ptr<Work::State> Engine::start(Operation operation) {
  auto state = std::make_shared<TaskState>();
  std::unique_lock lock(mutex_);
  refuse_if_over(&operation);
  wait_for_room(lock, operation);
  if (!thread_.joinable()) thread_ = start_thread("bp progress", [this] { progress(); });
  queue_.push_back({.operation = std::move(operation), .state = state});
  changed_.notify_all();
  return state;
}

// What is under way ends at its own deadline, with which all the others end.
void Engine::wait_for_room(std::unique_lock<std::mutex>& lock, const Operation& operation) {
  const std::size_t most = setup_.max_in_flight;
  const auto timeout = timeout_of(operation);
  const auto has_room = [&] { return most == 0 || queue_.size() + (busy_ ? 1 : 0) < most; };
  if (wait_with_timeout(changed_, lock, PausableTimeout(timeout), has_room)) {
    return refuse_if_over(&operation);
  }
  throw Error(ErrorCode::timeout,
              concat(rank_text(setup_.rank), " did not begin ", describe(operation), ": ", most,
                     " operations are in flight, as many as max_in_flight allows, and none ended "
                     "within ",
                     timeout.count(), " ms (wait for earlier ones, or allow more)"));
}

std::chrono::milliseconds Engine::timeout_of(const Operation& operation) const {
  return operation.timeout.count() > 0 ? operation.timeout : setup_.timeout;
}

// Bounded: every operation before ends at its own deadline.
void Engine::wait_until_idle(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
}

void Engine::progress() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // Idle, not waiting for a peer: ends with the next start() or the destructor.
    changed_.wait(lock, [this] { return (!queue_.empty() && !busy_) || closing_; });
    if (queue_.empty()) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    enter(task.operation);
    lock.unlock();
    std::exception_ptr error;
    try {
      execute(task.operation);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    leave(task.operation, !error);
    if (setup_.trace) {
      setup_.trace->add_overlapping({.row = row("buckets"),
                                     .name = describe(task.operation),
                                     .begin = task.started,
                                     .end = FlightRecorder::Clock::now()});
    }
    task.state->finish(error);  // who sees us idle sees it done
  }
}

// Whatever goes wrong in the middle of a collective leaves the ranks out of step, so it ends the
// communicator.
void Engine::execute(const Operation& operation) {
  // It was pending when that happened.
  if (failure_.flag().load(std::memory_order_acquire)) throw refusal(*failure_.get(), &operation);
  try {
    carry_out(operation);
  } catch (const Error& error) {
    failure_.set(error);
    leave_evidence(operation);
    throw;
  } catch (const std::exception& other) {
    const Error error = declare(
        setup_.members[static_cast<std::size_t>(setup_.rank)], ErrorCode::io,
        concat(rank_text(setup_.rank), " failed in ", describe(operation), ": ", other.what()));
    leave_evidence(operation);
    throw error;
  }
}

void Engine::carry_out_one(const Operation& operation, FlightRecorder::Clock::time_point begin) {
  header_ = {setup_.group, sequence_++, &operation, setup_.algorithm};
  shown_ = false;
  warned_ = false;
  received_ = 0;
  store_silent_ = false;
  CallContext context;
  context.transport = setup_.job ? &setup_.job->transport() : nullptr;
  context.supervisor = this;
  context.scratch = &scratch_;
  context.record = &call_record_;
  context.members = setup_.members;
  context.rank = setup_.rank;
  context.slot = header_.slot();
  context.sequence = header_.sequence;
  context.operation = &operation;
  context.begin = begin;
  context.timeout = timeout_of(operation);
  context.stall_after = setup_.stall_after;
  CollectiveCall call(std::move(context));
  perform(*setup_.backend, operation, call, packing_);
  if (shown_) forget_shown();
}

void Engine::abort(const std::string& why) {
  const Error error(ErrorCode::aborted, concat(rank_text(setup_.rank), " aborted: ", why));
  failure_.set(error);
  if (!setup_.job) return;
  setup_.job->transport().wake();
  if (setup_.is_world) {
    setup_.job->fail(failure_, setup_.members[static_cast<std::size_t>(setup_.rank)], error);
  } else {
    setup_.job->store().set(failed_key(), to_text(error));
  }
}

std::shared_ptr<Store> Engine::give_up_store() {
  if (!setup_.is_world || !setup_.job) {
    throw Error(ErrorCode::invalid_argument,
                concat(setup_.group,
                       " cannot recover: only a world of several ranks can, and its "
                       "groups are split anew"));
  }
  if (!failure_.get()) {
    throw Error(ErrorCode::invalid_argument,
                concat(setup_.group, " has nothing to recover from: it has not failed"));
  }
  std::unique_lock lock(mutex_);
  wait_until_idle(lock);
  return setup_.job->hand_over_store();
}

void Engine::finish() {
  {
    std::unique_lock lock(mutex_);
    refuse_if_over(nullptr);
    wait_until_idle(lock);
    refuse_if_over(nullptr);
  }
  messages_->finish();
  if (agreement_) agreement_->leave(setup_.rank, sequence_);
  const std::lock_guard lock(mutex_);
  finished_ = true;
}

std::shared_ptr<Work::State> Engine::start_send(Operation operation) {
  {
    const std::lock_guard lock(mutex_);
    refuse_if_over(&operation);
  }
  return messages_->start_send(std::move(operation));
}

std::shared_ptr<Work::State> Engine::start_receive(Operation operation, MessageStatus* report) {
  {
    const std::lock_guard lock(mutex_);
    refuse_if_over(&operation);
  }
  return messages_->start_receive(std::move(operation), report);
}

void Engine::send(Operation operation) {
  messages_->refuse_endless_send(operation);
  start_send(std::move(operation))->wait({});
}

MessageStatus Engine::receive(Operation operation) {
  messages_->refuse_endless_receive(operation);
  MessageStatus received;
  start_receive(std::move(operation), &received)->wait({});
  return received;
}

Counters Engine::counters() const {
  const std::lock_guard lock(mutex_);
  return recorder_.counters();
}

std::vector<RecordedOperation> Engine::recent() const {
  const std::lock_guard lock(mutex_);
  return recorder_.recent();
}

}  // namespace bp
