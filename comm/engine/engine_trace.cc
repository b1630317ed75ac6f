#include "comm/engine/engine_trace.h"

#include "base/text.h"

namespace bp {

// Each communicator has rows of its own, because spans of several threads would overlap.
std::string EngineTrace::row(std::string_view what) const {
  return setup_.is_world ? std::string(what) : concat(what, " of ", setup_.group);
}

void EngineTrace::add_collective(const Operation& operation,
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

void EngineTrace::add_wait(int peer, Time begin, Time end) const {
  setup_.trace->add({.row = row("waits"),
                     .name = concat("for ", setup_.rank_text(peer)),
                     .begin = begin,
                     .end = end});
}

void EngineTrace::add_async(const Operation& operation, Time begin, Time end) const {
  setup_.trace->add_overlapping(
      {.row = row("buckets"), .name = describe(operation), .begin = begin, .end = end});
}

void EngineTrace::add_message(const Operation& operation, Time begin, Time end) const {
  setup_.trace->add_overlapping(
      {.row = row("messages"), .name = describe(operation), .begin = begin, .end = end});
}

}  // namespace bp
