#include "comm/engine/engine.h"

#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "base/pausable_timeout.h"
#include "base/system/thread.h"
#include "base/text.h"
#include "comm/backend/perform.h"
#include "comm/device/device_memory.h"

namespace bp {

Engine::Engine(EngineSetup setup)
    : state_(std::move(setup)),
      trace_(state_.setup()),
      notes_(state_.setup()),
      message_supervisor_(state_, trace_, notes_, [this] { return asked().collectives; }),
      messages_(message_supervisor_),
      supervisor_(state_, trace_, notes_, messages_),
      join_protocol_(state_, packing_),
      stall_after_(this->setup().stall_after) {
  supervisor_.watch([this] { return look_at_running(); }, [this] { return waiting_thread(); });
  if (!this->setup().job) return;
  this->setup().job->add(state_.failure());
  this->setup().job->blocked().add(this->setup().group, [this] { return asked(); });
}

Engine::~Engine() {
  const bool has_failed = state_.has_failed();
  if (setup().job) setup().job->blocked().remove(setup().group);
  state_.failure().set({ErrorCode::aborted, "the communicator was destroyed"});
  if (setup().job) setup().job->transport().wake();
  {
    const std::lock_guard lock(state_.mutex());
    is_closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  // A backend that ends in peace waits for ranks that may be dead.
  if (has_failed) setup().backends.abandon();
  if (setup().job) setup().job->remove(state_.failure());
}

void Engine::refuse_if_over(const Operation* next) {
  if (state_.has_failed()) {
    if (!state_.failure_is_known()) {
      state_.set_failure_is_known();
      state_.write_record(state_.recorder().recent());
      throw state_.not_begun(next);
    }
    throw Error(ErrorCode::aborted,
                concat("this communicator has already failed: ", state_.failure().get()->what()));
  }
  if (has_finished_) throw Error(ErrorCode::aborted, "this communicator has finished");
  if (setup().job && setup().job->has_left()) {
    throw Error(ErrorCode::aborted,
                concat(setup().group,
                       " ended when this rank finished the world: call finish() of groups first"));
  }
}

void Engine::run(const Operation& operation) {
  {
    std::unique_lock lock(state_.mutex());
    refuse_if_over(&operation);
    user_ = std::this_thread::get_id();
    wait_until_idle(lock);  // what was started before comes first
    enter(operation, nullptr);
  }
  try {
    execute(operation);
  } catch (...) {
    const std::lock_guard lock(state_.mutex());
    leave(operation, /*good=*/false);
    throw;
  }
  const std::lock_guard lock(state_.mutex());
  leave(operation, /*good=*/true);
}

void Engine::enter(const Operation& operation, TaskState* state) {
  is_busy_ = true;
  // Each field by itself. A copy of a temporary would load several fields at once, before the
  // processor has stored them: a stall of 10 ns.
  in_progress_.begin = TickClock::now();
  in_progress_.entry_id = state_.recorder().begin(operation, sequence_, in_progress_.begin);
  in_progress_.record.algorithm = {};
  in_progress_.record.waited = {};
  in_progress_.state = state;
}

void Engine::leave(const Operation& operation, bool good) {
  const InProgress& ended = in_progress_;
  state_.recorder().end(ended.entry_id, good, ended.record, TickClock::now());
  if (trace_.is_on()) {
    trace_.add_collective(operation, supervisor_.sequence(), ended.record, steady_begin(),
                          Clock::now());
  }
  give_token_back(good);
}

void Engine::give_token_back(bool good) {
  is_busy_ = false;
  if (!good) state_.set_failure_is_known();
  changed_.notify_all();
}

Engine::Clock::time_point Engine::steady_begin() const {
  return Clock::now() - TickClock::between(in_progress_.begin, TickClock::now());
}

std::shared_ptr<Work::State> Engine::start(Operation operation) {
  auto state = std::make_shared<TaskState>();
  std::unique_lock lock(state_.mutex());
  refuse_if_over(&operation);
  user_ = std::this_thread::get_id();
  wait_for_room(lock, operation);
  if (!thread_.joinable()) thread_ = start_thread("bp progress", [this] { progress(); });
  queue_.push_back({.operation = std::move(operation), .state = state});
  ++unfinished_;
  changed_.notify_all();
  return state;
}

// The operation in flight ends at its own deadline, at which it ends on all ranks.
void Engine::wait_for_room(std::unique_lock<std::mutex>& lock, const Operation& operation) {
  const std::size_t most = setup().max_in_flight;
  const auto timeout = setup().timeout_of(operation);
  const auto has_room = [&] {
    const bool runs_one = is_busy_ && in_progress_.state == nullptr;  // on a caller's thread
    return most == 0 || unfinished_ + (runs_one ? 1 : 0) < most;
  };
  if (wait_with_timeout(changed_, lock, PausableTimeout(timeout), has_room)) {
    return refuse_if_over(&operation);
  }
  throw Error(ErrorCode::timeout,
              concat(setup().own_text(), " did not begin ", describe(operation), ": ", most,
                     " operations are in flight, as many as max_in_flight allows, and none ended "
                     "within ",
                     timeout.count(), " ms (wait for earlier ones, or allow more)"));
}

// Bounded, because every earlier operation ends at its own deadline.
void Engine::wait_until_idle(std::unique_lock<std::mutex>& lock) {
  idle_waiter_ = std::this_thread::get_id();
  changed_.wait(lock, [this] { return queue_.empty() && !is_busy_; });
  idle_waiter_ = {};
}

// Of the threads that wait for the operation in progress, or for one behind it, with no timeout of
// their own.
std::thread::id Engine::waiting_thread() {
  if (in_progress_.state == nullptr) return std::this_thread::get_id();
  const std::lock_guard lock(state_.mutex());
  std::thread::id waiter = in_progress_.state->waiting_thread();
  for (const Task& task : queue_) {
    if (waiter == std::thread::id()) waiter = task.state->waiting_thread();
  }
  return waiter == std::thread::id() ? idle_waiter_ : waiter;
}

void Engine::progress() {
  std::unique_lock lock(state_.mutex());
  for (;;) {
    if (running_.empty()) {
      // This thread is idle and waits for no peer. The next start() or the destructor wakes it.
      changed_.wait(lock, [this] { return (!queue_.empty() && !is_busy_) || is_closing_; });
      if (queue_.empty()) return;
    } else if (queue_.empty() || !may_begin_beside_running(queue_.front().operation)) {
      wait_for_running(lock);
      continue;
    }
    Task task = std::move(queue_.front());
    queue_.pop_front();
    enter(task.operation, task.state.get());
    lock.unlock();
    const std::exception_ptr error = execute_task(task);
    lock.lock();
    if (handover_.end) {
      leave_running(std::move(task));
    } else {
      finish_task(task, error);
    }
  }
}

std::exception_ptr Engine::execute_task(const Task& task) {
  may_hand_over_ = &handover_;
  std::exception_ptr error;
  try {
    execute(task.operation);
  } catch (...) {
    error = std::current_exception();
  }
  may_hand_over_ = nullptr;
  if (error) {
    fail_running(nullptr);
    handover_ = {};
  }
  return error;
}

void Engine::finish_task(const Task& task, const std::exception_ptr& error) {
  leave(task.operation, !error);
  is_busy_ = !running_.empty();
  --unfinished_;
  if (trace_.is_on()) trace_.add_async(task.operation, task.started, Clock::now());
  task.state->finish(error);  // with the mutex held: a caller that finds no operation sees it done
}

void Engine::execute(const Operation& operation) {
  // It was pending when the communicator failed.
  if (state_.has_failed()) throw state_.not_begun(&operation);
  or_fail(last_, [this] { settle_last(); });
  or_fail(operation, [&] { carry_out(operation); });
}

// Whatever goes wrong within a collective leaves the ranks at different steps of it, so the
// communicator cannot be used any more.
template <class Action>
void Engine::or_fail(const Operation& operation, const Action& action) {
  try {
    action();
  } catch (const DeviceFailure& failure) {
    throw failed_alone(operation, failure);
  } catch (const Error& error) {
    state_.failure().set(error);
    supervisor_.leave_evidence(operation);
    throw;
  } catch (const std::exception& other) {
    throw failed_alone(operation, other);
  }
}

// The other ranks know nothing of this failure yet.
Error Engine::failed_alone(const Operation& operation, const std::exception& why) {
  Error error = state_.declare(
      setup().transport_rank(setup().rank), ErrorCode::io,
      concat(setup().own_text(), " failed in ", describe(operation), ": ", why.what()));
  supervisor_.leave_evidence(operation);
  return error;
}

void Engine::carry_out(const Operation& operation) {
  if (setup().joinable && size() > 1) {
    join_protocol_.run(operation, [this](const Operation& one) { carry_out_one(one); });
  } else if (operation.kind != Operation::Kind::join) {
    carry_out_one(operation);
  }
}

void Engine::carry_out_one(const Operation& operation) {
  std::optional<ScopedArithmeticMode> arithmetic;
  if (operation.computes()) arithmetic.emplace(setup().arithmetic);
  // Only the operation that has the token counts, so nothing needs an atomic increment.
  const std::uint64_t sequence = sequence_.load(std::memory_order_relaxed);
  sequence_.store(sequence + 1, std::memory_order_relaxed);
  with_call(operation, sequence, [&](CollectiveCall& call) {
    perform(setup().backends.on(operation.device), operation, call, packing_);
  });
  last_is_settled_ = setup().backends.host().is_settled();
  if (!last_is_settled_) last_ = operation;
}

// A rank that waits for no data leaves a collective before all ranks have begun it. So that ranks
// that disagree all throw a mismatch, it looks at what the others did in it before its next one.
void Engine::settle_last() {
  if (last_is_settled_) return;
  with_call(last_, sequence_.load(std::memory_order_relaxed) - 1,
            [this](CollectiveCall& call) { setup().backends.host().settle(call); });
  last_is_settled_ = true;
}

void Engine::deliver_last() {
  if (!setup().is_world || !setup().job) return;
  PausableTimeout timeout(setup().timeout);
  for (;;) {
    const auto left = setup().job->transport().deliver(timeout.slice(), state_.stop());
    if (!left) return;
    if (state_.has_failed()) throw state_.not_begun(nullptr);
    timeout.look();
    const std::string waiting =
        concat(" in finish() for ", setup().rank_text(left->peer), " to take the last ",
               left->bytes, " bytes that it was sent");
    const auto waited = setup().timeout - timeout.left();
    if (waited >= kWarnAfterStalls * setup().stall_after) {
      state_.warn_of_dead_links(concat(setup().own_text(), " waits", waiting));
    } else {
      static_cast<void>(state_.look_at_links());
    }
    if (!timeout.over()) continue;
    const std::string dead_link = state_.dead_link(left->peer);
    throw state_.declare(
        left->peer, ErrorCode::timeout,
        concat(setup().own_text(), " waited ", setup().timeout.count(), " ms", waiting,
               dead_link.empty() ? " (is it stopped?)" : concat("; ", dead_link)));
  }
}

template <class Action>
void Engine::with_call(const Operation& operation, std::uint64_t sequence, const Action& action) {
  const Header& header =
      supervisor_.begin(sequence, operation, in_progress_.state == nullptr, in_progress_.record);
  CallContext context;
  context.transport = setup().job ? &setup().job->transport() : nullptr;
  context.supervisor = &supervisor_;
  context.scratch = &scratch_;
  context.record = &in_progress_.record;
  context.members = setup().members;
  context.rank = setup().rank;
  context.slot = header.slot();
  context.sequence = header.sequence;
  context.operation = &operation;
  context.timeout = setup().timeout_of(operation);
  context.stall_after = stall_after_;
  context.handover = may_hand_over_;
  const std::function<void(std::shared_ptr<const DeviceEvent>)> tell_end = [this](auto end) {
    if (in_progress_.state != nullptr) in_progress_.state->ends_at(std::move(end));
  };
  context.tell_end = &tell_end;
  CollectiveCall call(context);
  action(call);
  supervisor_.end();
}

int Engine::join(const Operation& operation) {
  run(operation);
  return join_protocol_.last_to_join();  // 0 for a rank that is alone
}

std::shared_ptr<Store> Engine::give_up_store() {
  if (!setup().is_world || !setup().job) {
    throw Error(ErrorCode::invalid_argument,
                concat(setup().group,
                       " cannot recover: only a world of several ranks can, and its groups are "
                       "split again afterwards"));
  }
  if (!state_.has_failed() || has_finished_) {
    throw Error(ErrorCode::invalid_argument,
                concat(setup().group, " has nothing to recover from: it has ",
                       has_finished_ ? "finished" : "not failed"));
  }
  if (has_successor_) {
    throw Error(ErrorCode::invalid_argument,
                concat(setup().group,
                       " has recovered already: use the communicator that recover() returned"));
  }
  std::unique_lock lock(state_.mutex());
  wait_until_idle(lock);
  return setup().job->hand_over_store();
}

void Engine::finish() {
  {
    std::unique_lock lock(state_.mutex());
    refuse_if_over(nullptr);
    wait_until_idle(lock);
    refuse_if_over(nullptr);
    is_busy_ = true;
    in_progress_.state = nullptr;
  }
  try {
    or_fail(last_, [this] { settle_last(); });
  } catch (...) {
    const std::lock_guard lock(state_.mutex());
    give_token_back(/*good=*/false);
    throw;
  }
  {
    const std::lock_guard lock(state_.mutex());
    give_token_back(/*good=*/true);
  }
  if (setup().is_world && setup().job) {
    setup().job->messenger().finish();  // also those of groups that have not finished
  } else {
    messages_.finish();
  }
  supervisor_.leave(sequence_);
  or_fail(last_, [this] { deliver_last(); });
  const std::lock_guard lock(state_.mutex());
  has_finished_ = true;
}

// A pending operation will begin, so it counts. While there is one, this rank may begin further
// collectives without its user.
BlockedNotes::Asked Engine::asked() const {
  const std::lock_guard lock(state_.mutex());
  const bool is_idle = queue_.empty() && !is_busy_;
  return {sequence_ + queue_.size(), is_idle ? user_ : std::thread::id()};
}

}  // namespace bp
