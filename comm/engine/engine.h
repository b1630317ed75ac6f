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
#include <map>
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

namespace bp {

// How long a collective may make no headway before its ranks compare what they asked for.
constexpr std::chrono::milliseconds kStall{1000};

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
  struct Task {
    Operation operation;
    std::shared_ptr<Work::State> state;
    FlightRecorder::Clock::time_point started = FlightRecorder::Clock::now();
  };
  // From one rank to another: what they agree on, apart from the collectives of all.
  struct Channel {
    std::string group;
    std::uint64_t sequence = 0;  // of the next message
    std::optional<Agreement> agreement;
  };

  [[nodiscard]] const std::atomic<bool>& stop() const override { return failure_.flag(); }
  void stalled(const Call& call) override;
  [[nodiscard]] Error mismatched(const std::string& text) override;
  [[nodiscard]] Error stopped(const Call& call) override;
  [[nodiscard]] Error timed_out(const Call& call, int peer) override;
  [[nodiscard]] Error failed(const Call& call, int peer, const TransportFailure& why) override;

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
  [[nodiscard]] Channel& channel(int sender, int receiver);
  [[nodiscard]] std::vector<int> participants() const;  // of the operation under way
  [[nodiscard]] std::optional<Error> find_disagreement();
  [[nodiscard]] std::optional<std::string> waiting_for_each_other();
  void warn_of_missing(const Call& call);
  void look_for_failed_group();
  [[nodiscard]] Error timed_out_without_store(const Call& call, int peer) const;
  [[nodiscard]] std::string failed_key() const;
  // For the launcher's report: what this rank is in, once it takes long or has failed.
  void show_under_way(const Operation& operation);
  void forget_shown();
  [[nodiscard]] std::string under_way_key() const;
  void leave_evidence(const Operation& operation);  // of a collective that failed: both of these
  void leave_record(const std::vector<RecordedOperation>& operations) const;
  [[nodiscard]] std::string rank_text(int rank) const;

  const EngineSetup setup_;
  std::optional<Agreement> agreement_;  // on the collectives of all
  std::map<std::pair<int, int>, Channel> channels_;
  Agreement* asked_ = nullptr;  // that on the operation under way
  Failure failure_;
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
  std::uint64_t sequence_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;  // guarded by mutex_, as all below
  bool busy_ = false;
  bool finished_ = false;
  bool told_ = false;  // somebody was thrown what failure_ holds
  bool closing_ = false;
  FlightRecorder recorder_;
  std::thread thread_;
};

}  // namespace bp
