// An operation that runs on its device while later ones begin. It and those before it end in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/backend/collective_call.h"
#include "comm/backend/operation.h"
#include "comm/engine/flight_recorder.h"
#include "comm/engine/work_state.h"

namespace bp {

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

}  // namespace bp
