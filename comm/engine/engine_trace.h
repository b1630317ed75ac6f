// The spans that one Engine adds to the trace, if there is one.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/backend/collective_call.h"
#include "comm/engine/engine_setup.h"

namespace bp {

class EngineTrace {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `setup` must outlive this object.
  explicit EngineTrace(const EngineSetup& setup) : setup_(setup) {}

  // The calls below require it.
  [[nodiscard]] bool is_on() const { return setup_.trace != nullptr; }
  void add_collective(const Operation& operation,
                      std::uint64_t sequence,
                      const CallRecord& record,
                      Time begin,
                      Time end) const;
  void add_wait(int peer, Time begin, Time end) const;
  // An operation of the progress thread, from the call to the end.
  void add_async(const Operation& operation, Time begin, Time end) const;
  void add_message(const Operation& operation, Time begin, Time end) const;

 private:
  [[nodiscard]] std::string row(std::string_view what) const;

  const EngineSetup& setup_;
};

}  // namespace bp
