// Finds out why a collective makes no progress or ends badly, which rank is the cause, and what all
// ranks throw. While all goes well it does nothing but count the time of waits.
//
// Threads: one at a time, the one that carries out the collective.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/backend/common/collective_call.h"
#include "comm/engine/messages/messages.h"
#include "comm/engine/observe/agreement.h"
#include "comm/engine/observe/blocked_notes.h"
#include "comm/engine/observe/engine_state.h"
#include "comm/engine/observe/engine_trace.h"
#include "comm/engine/observe/header.h"
#include "comm/engine/observe/wait_notes.h"

namespace bp {

class CollectiveSupervisor final : public CallSupervisor {
 public:
  // All must outlive this object.
  CollectiveSupervisor(EngineState& state,
                       const EngineTrace& trace,
                       WaitNotes& notes,
                       Messages& messages);

  // What a collective that waits must do: it looks at those before it that still run on their
  // device, and returns whether there are some. Their time does not count for the one that waits.
  // `waiting_thread` returns the thread that begins nothing before the collective has ended;
  // thread::id() if there is none.
  void watch(std::function<bool()> look_at_running,
             std::function<std::thread::id()> waiting_thread) {
    look_at_running_ = std::move(look_at_running);
    waiting_thread_ = std::move(waiting_thread);
  }
  // The collective number `sequence` begins. `operation` and `record` must live until its end.
  // Returns its header, which stays until the next begin().
  const Header& begin(std::uint64_t sequence,
                      const Operation& operation,
                      bool on_callers_thread,
                      CallRecord& record);
  // It has ended well.
  void end() {
    if (current_.is_shown) forget_shown();
  }
  // The number of the last collective that has begun.
  [[nodiscard]] std::uint64_t sequence() const { return current_.header.sequence; }
  // The operation has failed: writes what this rank was doing into the store and into a file.
  void leave_evidence(const Operation& operation);
  // This rank finishes after `collectives` collectives.
  void leave(std::uint64_t collectives);

  [[nodiscard]] const std::atomic<bool>& stop() const override { return state_.stop(); }
  void stalled(CollectiveCall& call) override;
  [[nodiscard]] Error mismatched(const std::string& text) override;
  [[nodiscard]] Error stopped(const CollectiveCall& call) override;
  [[nodiscard]] Error timed_out(const CollectiveCall& call, int peer) override;
  // All ranks have begun the operation on their devices, where it did not end in time.
  [[nodiscard]] Error timed_out_on_device(const CollectiveCall& call);
  [[nodiscard]] Error failed(const CollectiveCall& call,
                             int peer,
                             const TransportFailure& why) override;
  void waited(int peer, std::chrono::steady_clock::time_point since) override;

 private:
  // The collective in progress, or the last one.
  struct Current {
    Header header = {};
    bool on_callers_thread = false;
    CallRecord* record = nullptr;
    bool is_shown = false;         // the header, in the store
    bool has_warned = false;       // of missing ranks
    std::size_t received = 0;      // bytes, at the last look for progress
    bool store_is_silent = false;  // it gave no answer
  };
  // Returns whether it is too early to compare what the ranks asked for.
  [[nodiscard]] bool is_held_up(CollectiveCall& call);

  // Returns what to throw if ranks differ. Sets `shown` to what the ranks in the collective show.
  [[nodiscard]] std::optional<Error> find_disagreement(Agreement::Shown& shown);
  void look_for_circle(const Agreement::Shown& shown);
  [[nodiscard]] std::vector<int> missing_in(const Agreement::Shown& shown,
                                            const CollectiveCall& call) const;
  void warn_of_missing(const CollectiveCall& call);
  // Returns the text of an error: this rank's device did not get ready for the call in time.
  [[nodiscard]] std::string device_text(const CollectiveCall& call) const;
  [[nodiscard]] Error timed_out_alone(const CollectiveCall& call, int peer) const;
  [[nodiscard]] Error timed_out_without_store(const CollectiveCall& call, int peer) const;
  void show_activity(const Operation& operation);
  void forget_shown();

  EngineState& state_;
  const EngineSetup& setup_;
  const EngineTrace& trace_;
  WaitNotes& notes_;
  Messages& messages_;
  std::optional<Agreement> agreement_;  // none for one rank
  Current current_;
  std::function<bool()> look_at_running_ = [] { return false; };
  std::function<std::thread::id()> waiting_thread_ = [] { return std::thread::id(); };
  std::chrono::steady_clock::time_point next_stall_ = {};  // of a call beside others that run
};

}  // namespace bp
