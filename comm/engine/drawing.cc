// The part of Engine that draws into the trace, where there is one.
#include "base/text.h"
#include "comm/engine/engine.h"

namespace bp {

// Each communicator has rows of its own: those of several threads would overlap.
std::string Engine::row(std::string_view what) const {
  return std::string(setup_.is_world ? what : concat(what, " of ", setup_.group));
}

void Engine::draw(const Operation& operation, FlightRecorder::Clock::time_point end) const {
  const std::chrono::duration<double, std::micro> waited = call_record_.waited;
  setup_.trace->add(
      {.row = row("collectives"),
       .name = describe(operation),
       .begin = entered_,
       .end = end,
       .arguments = concat(R"("sequence":)", header_.sequence, R"(,"bytes":)", operation.bytes(),
                           R"(,"algorithm":")", call_record_.algorithm, R"(","waited_us":)",
                           waited.count())});
}

void Engine::waited(int peer, std::chrono::steady_clock::time_point since) {
  const auto now = std::chrono::steady_clock::now();
  call_record_.waited += now - since;
  if (setup_.trace) {
    setup_.trace->add(
        {.row = row("waits"), .name = concat("for ", rank_text(peer)), .begin = since, .end = now});
  }
}

}  // namespace bp
