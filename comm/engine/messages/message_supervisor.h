// Finds out why a message makes no progress or is lost, which rank is the cause, and what all ranks
// throw. It also records messages beside the collectives.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "comm/engine/messages/message_work.h"
#include "comm/engine/observe/engine_state.h"
#include "comm/engine/observe/engine_trace.h"
#include "comm/engine/observe/wait_notes.h"
#include "comm/transport/transport.h"

namespace bp {

class MessageSupervisor {
 public:
  // All must outlive this object. `collectives_asked_for` returns how many collectives this rank's
  // program has asked for; it may take the mutex of `state`.
  MessageSupervisor(EngineState& state,
                    const EngineTrace& trace,
                    WaitNotes& notes,
                    std::function<std::uint64_t()> collectives_asked_for);

  [[nodiscard]] EngineState& state() { return state_; }
  [[nodiscard]] WaitNotes& notes() { return notes_; }

  [[nodiscard]] FlightRecorder::EntryId record_begin(const Operation& operation);
  void record_end(const MessageWork& work, bool good);

  // A message and its receive do not fit.
  void disagree(const std::string& text);
  // The wait for the message has lasted for a stall. `own` is the note of this rank. Returns what
  // is wrong, or nothing if the message may still come. Warns once of a receive that waits long.
  [[nodiscard]] std::optional<Error> stalled(MessageWork& work, const WaitNote& own);
  // Each returns what to throw when ...
  [[nodiscard]] Error stopped(const Operation& operation) const;
  // `has_begun`: some of the data may have come. `unreceived`: which messages came that no receive
  // matches, as text.
  [[nodiscard]] Error timed_out(const MessageWork& work,
                                bool has_begun,
                                const std::string& unreceived);
  [[nodiscard]] Error lost(const MessageWork& work,
                           const WaitNote& own,
                           const TransportFailure& why);
  // `error` is thrown to the caller of the operation: it becomes the communicator's failure.
  void failed(const Operation& operation, const Error& error);
  // `receiver` has finished, or the timeout of finish() has passed, while it has not received
  // `count` messages of this rank.
  [[noreturn]] void left(int receiver, std::size_t count, bool has_finished);

 private:
  // Says which connections carry nothing. Otherwise warns once of a receive that takes long.
  void warn_of_long_wait(MessageWork& work);
  // Returns WaitNotes::activity_text() of the peer, or "" if any rank may send or the store does
  // not answer.
  [[nodiscard]] std::string activity_of_peer(const MessageWork& work) const;
  [[nodiscard]] std::string circle_text(const WaitCircle& circle) const;

  EngineState& state_;
  const EngineSetup& setup_;
  const EngineTrace& trace_;
  WaitNotes& notes_;
  const std::function<std::uint64_t()> collectives_asked_for_;
  std::atomic<bool> store_is_silent_{false};  // it gave no answer
  std::uint64_t begun_ = 0;                   // messages; guarded by the state's mutex
};

}  // namespace bp
