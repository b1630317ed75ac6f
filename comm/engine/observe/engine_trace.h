// The spans that one Engine adds to the trace, if there is one.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "comm/backend/common/collective_call.h"
#include "comm/engine/observe/engine_setup.h"

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
                      Time end) const {
    const std::chrono::duration<double, std::micro> waited = record.waited;
    setup_.trace->add({.row = row("collectives"),
                       .name = describe(operation),
                       .begin = begin,
                       .end = end,
                       .arguments = concat(R"("sequence":)", sequence, R"(,"bytes":)",
                                           operation.bytes(), R"(,"algorithm":")", record.algorithm,
                                           R"(","waited_us":)", waited.count())});
  }

  void add_wait(int peer, Time begin, Time end) const {
    setup_.trace->add({.row = row("waits"),
                       .name = concat("for ", setup_.rank_text(peer)),
                       .begin = begin,
                       .end = end});
  }

  // An operation of the progress thread, from the call to the end.
  void add_async(const Operation& operation, Time begin, Time end) const {
    setup_.trace->add_overlapping(
        {.row = row("buckets"), .name = describe(operation), .begin = begin, .end = end});
  }

  void add_message(const Operation& operation, Time begin, Time end) const {
    setup_.trace->add_overlapping(
        {.row = row("messages"), .name = describe(operation), .begin = begin, .end = end});
  }

 private:
  // Each communicator has rows of its own, because spans of several threads would overlap.
  [[nodiscard]] std::string row(std::string_view what) const {
    return setup_.is_world ? std::string(what) : concat(what, " of ", setup_.group);
  }

  const EngineSetup& setup_;
};

}  // namespace bp
