// Carries out the collectives of one communicator, one at a time and in order. What goes wrong is
// judged by CollectiveSupervisor and MessageSupervisor; messages between two ranks are in Messages.
//
// An operation that was start()ed and that its backend only enqueues on a device is left running
// there. The next one begins at once if it is of the same kind, else when all of these have ended.
//
// Threads: run() and start() come from one thread at a time, abort() from any. An operation runs on
// the caller's thread if no other is in flight or pending, else on the progress thread, which
// begins with the first start(). Two never run at once: `is_busy_` is the token, guarded by the
// mutex of `state_` like the queue.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bp/communicator.h"
#include "comm/backend/common/collective_call.h"
#include "comm/backend/common/operation.h"
#include "comm/engine/collective_supervisor.h"
#include "comm/engine/join_protocol.h"
#include "comm/engine/messages/message_supervisor.h"
#include "comm/engine/messages/messages.h"
#include "comm/engine/observe/engine_setup.h"
#include "comm/engine/observe/engine_state.h"
#include "comm/engine/observe/engine_trace.h"
#include "comm/engine/observe/flight_recorder.h"
#include "comm/engine/observe/wait_notes.h"
#include "comm/engine/observe/work_state.h"

namespace bp {

// An operation that runs on its device while later ones begin. It and those before it end in order.
struct RunningOperation {
  // The largest number that may run at a time, so that the device's queue of work stays short.
  static constexpr std::size_t kMost = 32;

  Operation operation;
  std::shared_ptr<TaskState> state;
  FlightRecorder::EntryId entry_id = 0;
  CallRecord record = {};
  std::uint64_t sequence = 0;
  std::chrono::steady_clock::time_point started = {};  // when the program called
  std::chrono::steady_clock::time_point begin = {};    // when the operation before it ended
  // Its timeout begins to count when no operation before it runs.
  Handover handover = {};
};

class Engine {
 public:
  explicit Engine(EngineSetup setup);
  // Fails what is pending with `aborted`. Does not talk to the network.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void run(const Operation& operation);
  [[nodiscard]] std::shared_ptr<Work::State> start(Operation operation);
  // Messages do not enter the queue, and may complete in any order.
  void send(Operation operation);
  [[nodiscard]] std::shared_ptr<Work::State> start_send(Operation operation);
  [[nodiscard]] MessageStatus receive(Operation operation);
  [[nodiscard]] std::shared_ptr<Work::State> start_receive(Operation operation,
                                                           MessageStatus* report);
  int join(const Operation& operation);  // returns the last rank to join
  void abort(const std::string& why) { state_.abort(why); }
  // The first step of recover(): throws invalid_argument unless this is a world that has failed and
  // has no successor. Afterwards no operation is in flight.
  [[nodiscard]] std::shared_ptr<Store> give_up_store();
  void set_has_successor() { has_successor_ = true; }  // recover() has succeeded
  // Waits for what is pending, and lets the others know that this rank begins no further operation.
  // The connections belong to the world, so its finish() also waits until they have delivered all.
  void finish();

  [[nodiscard]] const EngineSetup& setup() const { return state_.setup(); }
  [[nodiscard]] int size() const { return setup().size(); }
  [[nodiscard]] Counters counters() const { return state_.counters(); }
  [[nodiscard]] std::vector<RecordedOperation> recent() const { return state_.recent(); }
  [[nodiscard]] int launcher_rank(int rank) const { return setup().launcher_rank(rank); }
  // Returns how many collectives have begun. No operation may be in flight.
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Task {
    Operation operation;
    std::shared_ptr<TaskState> state;
    Clock::time_point started = Clock::now();
  };
  // The operation that has the token. It is one collective, or several where ranks may join.
  struct InProgress {
    FlightRecorder::EntryId entry_id = 0;
    TickClock::Ticks begin = 0;
    CallRecord record = {};
    TaskState* state = nullptr;  // null: run() carries it out
  };

  void refuse_message_if_over(const Operation& operation);
  void wait_for_stream(const Operation& message);
  // With the mutex held. Throws if no further operation is possible. Null: finish() comes next.
  void refuse_if_over(const Operation* next);
  // Take the token and give it back, with the mutex held.
  void enter(const Operation& operation, TaskState* state);
  void leave(const Operation& operation, bool good);
  void give_token_back(bool good);
  void execute(const Operation& operation);
  // Calls `action`, which works on `operation`. Fails the communicator if it throws.
  template <class Action>
  void or_fail(const Operation& operation, const Action& action);
  void carry_out(const Operation& operation);
  void carry_out_one(const Operation& operation);
  // Calls `action` with a CollectiveCall of the collective number `sequence`.
  template <class Action>
  void with_call(const Operation& operation, std::uint64_t sequence, const Action& action);
  // Waits until all ranks have begun the last collective. Throws if they differ in it.
  void settle_last();
  // Ends this rank's sending to the others, and waits until they have all that it has sent.
  void deliver_last();
  // When the operation in progress began.
  [[nodiscard]] Clock::time_point steady_begin() const;
  [[nodiscard]] Error failed_alone(const Operation& operation, const std::exception& why);
  // Of the operations that run on their device (engine_running.cc):
  using Judge = std::function<Error(CollectiveSupervisor&, const CollectiveCall&)>;
  [[nodiscard]] bool may_begin_beside_running(const Operation& operation) const;
  void leave_running(Task task);  // with the mutex held, and so the next
  void wait_for_running(std::unique_lock<std::mutex>& lock);  // until one ends or one is queued
  // Ends what has ended or failed. Returns whether some still run.
  bool look_at_running();
  [[nodiscard]] bool has_ended(RunningOperation& first);
  void look_for_failed_group();
  [[nodiscard]] Error stopped(const RunningOperation& running) const;
  [[nodiscard]] Error judged(const RunningOperation& running, const Judge& judge);
  void fail_running(std::exception_ptr error);  // null: because the communicator has failed
  void end_first_running(const std::exception_ptr& error);

  void wait_for_room(std::unique_lock<std::mutex>& lock, const Operation& operation);
  void wait_until_idle(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] std::thread::id waiting_thread();  // none: thread::id()
  void progress();
  [[nodiscard]] std::exception_ptr execute_task(const Task& task);
  void finish_task(const Task& task, const std::exception_ptr& error);  // with the mutex held
  [[nodiscard]] BlockedNotes::Asked asked() const;

  EngineState state_;
  const EngineTrace trace_;
  WaitNotes notes_;
  MessageSupervisor message_supervisor_;
  Messages messages_;
  CollectiveSupervisor supervisor_;
  Operation last_;  // the last collective, unless last_is_settled_: others may not have begun it
  bool last_is_settled_ = true;
  ScratchMemory scratch_;
  ScratchMemory packing_;  // of perform()
  JoinProtocol join_protocol_;
  InProgress in_progress_;
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<bool> has_successor_{false};
  // The progress thread's, while it has the token:
  std::deque<RunningOperation> running_;
  Handover handover_;                  // of the operation in progress
  Handover* may_hand_over_ = nullptr;  // null: it must end before the next one begins
  std::chrono::milliseconds stall_after_;
  Clock::time_point next_look_at_group_ = {};

  std::condition_variable changed_;
  std::deque<Task> queue_;      // guarded by the mutex of state_, as all below
  std::size_t unfinished_ = 0;  // operations that start() got
  bool is_busy_ = false;
  bool has_finished_ = false;
  bool is_closing_ = false;
  std::thread::id idle_waiter_ = {};                   // the thread in wait_until_idle()
  std::thread::id user_ = std::this_thread::get_id();  // the thread that made it, or used it last
  std::thread thread_;
};

}  // namespace bp
