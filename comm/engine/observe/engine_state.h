// The parts of one Engine share this: its setup, its failure, and the record of its operations.
//
// Threads: any. mutex() guards the flight recorder and what Engine says that it guards. A thread
// that holds it takes no mutex of Messages.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bp/activity.h"
#include "bp/error.h"
#include "comm/engine/observe/engine_setup.h"
#include "comm/engine/observe/failure.h"
#include "comm/engine/observe/flight_recorder.h"

namespace bp {

// A lost connection is often the consequence of a failure elsewhere, because a rank that gives up
// closes its connections too. The news of that failure takes up to this time to come from the
// store.
constexpr std::chrono::milliseconds kNewsOnTheWay{500};

// The key under which a member of a group shows that it has aborted the group.
[[nodiscard]] std::string failed_group_key(const std::string& group);

class EngineState {
 public:
  explicit EngineState(EngineSetup setup) : setup_(std::move(setup)) {}

  [[nodiscard]] const EngineSetup& setup() const { return setup_; }
  [[nodiscard]] Failure& failure() { return failure_; }
  // Set once the communicator has failed.
  [[nodiscard]] const std::atomic<bool>& stop() const { return failure_.flag(); }
  [[nodiscard]] bool has_failed() const { return stop().load(std::memory_order_acquire); }

  // Fails the communicator, and the job with it, because of what `cause` did: a rank in the
  // transport, or -1. Returns the failure that is kept, which may be an earlier one.
  [[nodiscard]] Error declare(int cause, ErrorCode code, const std::string& text);
  // Fails the communicator because this rank's program asks for it.
  void abort(const std::string& why);
  // The abort() of a group does not fail the job, so its members must look for it in the store.
  void look_for_failed_group();
  // Looks at the connections of this rank. Returns what is wrong if one has carried nothing for
  // five stalls, and shows that to the other ranks; else an empty text.
  [[nodiscard]] std::string look_at_links();
  // Logs what look_at_links() finds, once until all is well again. `doing`: what this rank has
  // waited in, for how long. Returns whether something is wrong.
  bool warn_of_dead_links(const std::string& doing);
  // Returns what this rank or `member` knows to be wrong with its connections; or an empty text.
  // `member`: -1 asks this rank only.
  [[nodiscard]] std::string dead_link(int member);
  // Returns what to throw in an operation that was in progress when the communicator failed.
  // `where`: "in barrier".
  [[nodiscard]] Error stopped(const std::string& where) const;
  // The same for an operation that had not begun; null: for finish().
  [[nodiscard]] Error not_begun(const Operation* next) const;

  [[nodiscard]] Counters counters() const;
  [[nodiscard]] std::vector<RecordedOperation> recent() const;
  // Writes the operations to a file, if the setup names a folder. The communicator has failed.
  void write_record(const std::vector<RecordedOperation>& operations) const;

  [[nodiscard]] std::mutex& mutex() const { return mutex_; }
  // With the mutex held:
  [[nodiscard]] FlightRecorder& recorder() { return recorder_; }
  // True once a call has thrown the failure. Later calls throw `aborted`.
  [[nodiscard]] bool failure_is_known() const { return failure_is_known_; }
  void set_failure_is_known() { failure_is_known_ = true; }

 private:
  [[nodiscard]] std::string links_key(int member) const;

  const EngineSetup setup_;
  Failure failure_;
  std::atomic<bool> shows_links_{false};  // to the other ranks, that one carries nothing
  std::atomic<bool> has_warned_of_links_{false};
  mutable std::mutex mutex_;
  FlightRecorder recorder_;  // guarded by mutex_, as the next
  bool failure_is_known_ = false;
};

}  // namespace bp
