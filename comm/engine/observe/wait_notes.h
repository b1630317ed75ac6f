// The notes in the store by which ranks learn what another rank waits for (comm/message/circle.h),
// and what the launcher's report says that this rank was doing.
//
// Threads: any. All but forget() and find_finished() throw what the store throws, and `timeout` if
// it does not answer.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "comm/engine/observe/engine_setup.h"
#include "comm/message/circle.h"

namespace bp {

class WaitNotes {
 public:
  // `setup` must outlive this object.
  explicit WaitNotes(const EngineSetup& setup) : setup_(setup) {}

  // Replaces this rank's note. Does nothing if the store holds it already, or if this rank is
  // alone.
  void show(const WaitNote& note);
  // Deletes the note and what show_activity() has written. Does nothing if no note is shown.
  void forget();
  // Returns the note of a rank. A text that is not a note of a rank of this communicator is none.
  [[nodiscard]] std::optional<WaitNote> find(int rank) const;
  // Returns the note of a rank that has finished; none also if the store does not answer.
  [[nodiscard]] std::optional<WaitNote> find_finished(int rank) const;

  // Shows what this rank does now, in whichever communicator, to the launcher and to ranks that
  // wait for this one.
  void show_activity(const std::string& what);
  void forget_activity();
  // Returns "; rank 1 is in collective 0 of world.1.0: barrier", or that the rank has finished.
  // Empty if it shows nothing.
  [[nodiscard]] std::string activity_text(int rank) const;

 private:
  [[nodiscard]] std::string key(int rank) const;
  [[nodiscard]] std::string activity_key(int rank) const;

  const EngineSetup& setup_;
  std::atomic<bool> is_shown_{false};
  std::mutex mutex_;
  std::string text_;  // of the note that was shown last; guarded by mutex_
};

// Returns what to try after a timeout, in brackets. `activity`: the activity_text() of the rank
// that did not come.
[[nodiscard]] std::string_view timeout_advice(std::string_view activity);

// Takes this rank's note back at its end.
class WaitNoteGuard {
 public:
  explicit WaitNoteGuard(WaitNotes& notes) : notes_(notes) {}
  WaitNoteGuard(const WaitNoteGuard&) = delete;
  WaitNoteGuard& operator=(const WaitNoteGuard&) = delete;
  ~WaitNoteGuard() { notes_.forget(); }

 private:
  WaitNotes& notes_;
};

}  // namespace bp
