// Carries out the collectives of one communicator, one at a time and in order, and decides what a
// failure is called.
//
// Threads: run() and start() come from one thread at a time, abort() from any. An operation runs on
// the caller's thread where nothing is under way, else on the progress thread, which starts with
// the first start(). Never two at once: `busy_` is the token, guarded by mutex_ like the queue.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bp/communicator.h"
#include "bp/trace.h"
#include "comm/backend/backend.h"
#include "comm/backend/selection_table.h"
#include "comm/engine/agreement.h"
#include "comm/engine/failure.h"
#include "comm/engine/flight_recorder.h"
#include "comm/engine/header.h"
#include "comm/engine/job.h"
#include "comm/engine/messages.h"

namespace bp {

// How long a collective may make no headway before its ranks compare what they asked for.
constexpr std::chrono::milliseconds kStall{1000};

// A lost connection is often the echo of a failure elsewhere, whose news is on its way from the
// store: a rank that gave up after another died closes its connections too.
constexpr std::chrono::milliseconds kNewsOnTheWay{500};

struct EngineSetup {
  std::shared_ptr<Job> job;  // null for one rank
  std::string group;         // "world"; unique among the job's communicators
  bool is_world = false;     // no group: its failure is the job's
  std::vector<int> members;  // ranks in the transport, by rank in the communicator
  int rank = 0;              // in the communicator
  std::unique_ptr<Backend> backend;
  std::string algorithm;    // see Communicator::algorithm(); part of what all must agree on
  SelectionTable measured;  // likewise
  std::chrono::milliseconds timeout{0};
  std::string output;  // a folder, or empty: where the record of a failed communicator goes
  std::shared_ptr<Trace> trace;  // may be null
  std::chrono::milliseconds stall_after = kStall;
  std::size_t max_in_flight = 0;  // 0: no limit
  bool joinable = false;
};

// Where ranks may join, a collective's name travels in a record of fixed length.
inline constexpr std::size_t kLongestJoinableName = 200;

class Engine : private CallSupervisor {
 public:
  explicit Engine(EngineSetup setup);
  // Fails what is pending with `aborted`. Does not talk to the network.
  ~Engine() override;

  void run(const Operation& operation);
  [[nodiscard]] std::shared_ptr<Work::State> start(Operation operation);
  // Messages: beside the queue, in any order.
  void send(Operation operation);
  [[nodiscard]] std::shared_ptr<Work::State> start_send(Operation operation);
  [[nodiscard]] MessageStatus receive(Operation operation);
  [[nodiscard]] std::shared_ptr<Work::State> start_receive(Operation operation,
                                                           MessageStatus* report);
  int join(const Operation& operation);  // returns the last rank to join
  void abort(const std::string& why);
  // What recover() begins with: throws unless this is a world that has failed. Nothing is under way
  // afterwards.
  [[nodiscard]] std::shared_ptr<Store> give_up_store();
  // Waits for what is pending and lets the others know that nothing more will come from here.
  void finish();

  [[nodiscard]] const EngineSetup& setup() const { return setup_; }
  [[nodiscard]] int size() const { return static_cast<int>(setup_.members.size()); }
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] std::vector<RecordedOperation> recent() const;
  // What the launcher calls a rank of the communicator.
  [[nodiscard]] int launcher_rank(int rank) const;
  // How many collectives have begun; call it when none is under way.
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }

 private:
  friend class Messages;
  struct Task {
    Operation operation;
    std::shared_ptr<TaskState> state;
    FlightRecorder::Clock::time_point started = FlightRecorder::Clock::now();
  };
  // Its life is a wait for a message.
  class WaitShown {
   public:
    explicit WaitShown(Engine& engine) : engine_(engine) {}
    WaitShown(const WaitShown&) = delete;
    WaitShown& operator=(const WaitShown&) = delete;
    ~WaitShown() { engine_.forget_wait(); }

   private:
    Engine& engine_;
  };

  [[nodiscard]] const std::atomic<bool>& stop() const override { return failure_.flag(); }
  void stalled(const CollectiveCall& call) override;
  [[nodiscard]] Error mismatched(const std::string& text) override;
  [[nodiscard]] Error stopped(const CollectiveCall& call) override;
  [[nodiscard]] Error timed_out(const CollectiveCall& call, int peer) override;
  [[nodiscard]] Error failed(const CollectiveCall& call,
                             int peer,
                             const TransportFailure& why) override;

  // Throws where nothing more can be done. Null: finish() comes next.
  void refuse_if_over(const Operation* next);  // with mutex_ held
  [[nodiscard]] Error refusal(const Error& failure, const Operation* next) const;
  // Take and give back the token, with mutex_ held.
  void enter(const Operation& operation);
  void leave(const Operation& operation, bool good);
  [[nodiscard]] std::string row(std::string_view what) const;
  void draw(const Operation& operation, FlightRecorder::Clock::time_point end) const;
  void waited(int peer, std::chrono::steady_clock::time_point since) override;
  void execute(const Operation& operation);
  void carry_out(const Operation& operation);  // with what joining takes
  void carry_out_one(const Operation& operation, FlightRecorder::Clock::time_point begin);
  [[nodiscard]] std::vector<int> exchange_records(const Operation& own);
  void carry_out_among_joined(Operation operation, const std::vector<int>& joined);
  void wait_for_room(std::unique_lock<std::mutex>& lock, const Operation& operation);
  [[nodiscard]] std::chrono::milliseconds timeout_of(const Operation& operation) const;
  void progress();
  void wait_until_idle(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Error declare(int cause, ErrorCode code, const std::string& text);
  [[nodiscard]] std::vector<int> participants() const;  // of a collective
  [[nodiscard]] std::optional<Error> find_disagreement();
  void warn_of_missing(const CollectiveCall& call);
  void look_for_failed_group();
  [[nodiscard]] Error timed_out_without_store(const CollectiveCall& call, int peer) const;
  [[nodiscard]] std::string failed_key() const;
  // For the launcher's report: what this rank is in, once it takes long or has failed.
  void show_under_way(const Operation& operation);
  void forget_shown();
  [[nodiscard]] std::string under_way_key() const;
  void leave_evidence(const Operation& operation);  // of a collective that failed: both of these
  void leave_record(const std::vector<RecordedOperation>& operations) const;
  [[nodiscard]] std::string rank_text(int rank) const;

  // For Messages, from any thread.
  [[nodiscard]] bool has_failed() const { return stop().load(std::memory_order_acquire); }
  [[nodiscard]] FlightRecorder::Ticket record_message(const Operation& operation,
                                                      FlightRecorder::Clock::time_point now);
  void record_end_of_message(const MessageWork& work, bool good);
  void disagree_on_message(const std::string& text);
  // The message has been waited for so long that something may be wrong: what is.
  [[nodiscard]] std::optional<Error> message_stalled(const MessageWork& work);
  // What to throw when ...
  [[nodiscard]] Error message_stopped(const Operation& operation) const;
  [[nodiscard]] Error message_timed_out(const MessageWork& work, bool began);
  [[nodiscard]] Error message_lost(const MessageWork& work, const TransportFailure& why);
  void message_failed(const Operation& operation, const Error& error);
  // The receiver has finished, or the timeout has passed, while it has not received
  // `count` messages of this rank.
  [[noreturn]] void messages_left(int receiver, std::size_t count, bool finished);
  // The notes in the store that say what each rank waits for (comm/message/circle.h).
  [[nodiscard]] std::string wait_key(int rank) const;
  [[nodiscard]] std::optional<WaitNote> shown_wait(int rank);
  void show_wait(const WaitNote& note);
  void forget_wait();
  void show_finished();
  [[nodiscard]] std::optional<WaitNote> shown_finish(int rank);  // where it has
  [[nodiscard]] std::string circle_text(const WaitCircle& circle) const;

  const EngineSetup setup_;
  std::optional<Agreement> agreement_;  // on the collectives of all
  Failure failure_;
  std::unique_ptr<Messages> messages_;
  std::atomic<bool> wait_shown_{false};
  std::atomic<bool> message_store_silent_{false};
  Scratch scratch_;
  Scratch packing_;                 // of perform()
  std::vector<std::byte> records_;  // of all ranks: what they are about to do (join.cc)
  std::vector<int> joined_;         // by the last round of records
  int last_to_join_ = 0;
  CallRecord call_record_;  // of the operation under way, as the next six
  FlightRecorder::Clock::time_point entered_;
  Header header_;
  bool shown_ = false;         // header_ is in the store
  bool warned_ = false;        // of ranks that are missing in it
  std::size_t received_ = 0;   // bytes, when it was last looked whether it gets on
  bool store_silent_ = false;  // it gave no answer
  FlightRecorder::Ticket ticket_ = 0;
  bool blocking_ = false;  // it runs on the caller's thread
  std::atomic<std::uint64_t> sequence_{0};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;  // guarded by mutex_, as all below
  bool busy_ = false;
  bool finished_ = false;
  bool told_ = false;  // somebody was thrown what failure_ holds
  bool closing_ = false;
  FlightRecorder recorder_;
  std::uint64_t messages_begun_ = 0;
  std::string wait_text_;  // of the last note that was shown
  std::thread thread_;
};

}  // namespace bp
