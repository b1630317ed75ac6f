// The state of a message that this rank sends or receives, which its Work shares.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bp/collective.h"
#include "comm/backend/common/operation.h"
#include "comm/engine/observe/flight_recorder.h"
#include "comm/engine/observe/work_state.h"
#include "comm/message/messenger.h"

namespace bp {

class Messages;

// What a MessageWork shares with the Messages that made it, which may be destroyed first.
struct MessageCore {
  std::mutex mutex;
  std::condition_variable changed;
  Messages* owner = nullptr;  // guarded by mutex
};

struct MessageWork final : Work::State {
  // posted: a receive without a message. moving: the data are on their way.
  enum class Phase : std::uint8_t { posted, moving, done };

  [[nodiscard]] bool done() override;
  bool wait(std::optional<std::chrono::milliseconds> timeout) override;

  std::shared_ptr<MessageCore> core;
  Operation operation;
  bool sends = false;
  int peer = kAnySource;            // in the communicator
  MessageStatus* report = nullptr;  // the caller's
  std::uint64_t number = 0;         // of the message that it sends
  FlightRecorder::EntryId entry_id = 0;
  std::chrono::steady_clock::time_point begun;
  // Guarded by the core's mutex:
  Phase phase = Phase::posted;
  MessageStatus received;
  std::chrono::nanoseconds waited{0};
  OutgoingPacket announcement;
  // These move the data. Once they are posted, they belong to the thread that waits.
  std::deque<std::unique_ptr<Transfer>> transfers;
  bool expected = false;     // of a receive: the transfers were posted with it
  std::string broken;        // why the connection is lost; empty while it is not
  std::exception_ptr error;  // what wait() throws once the work is done
  bool has_warned = false;   // of a long wait
};

}  // namespace bp
