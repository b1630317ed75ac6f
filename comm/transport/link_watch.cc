#include "comm/transport/link_watch.h"

namespace bp {
namespace {

// One probe may be on its way.
constexpr int kProbes = 2;

}  // namespace

std::optional<DeadLink> LinkWatch::look(const LinkState& now, Clock::time_point at) {
  const bool waits = now.in_flight > 0 || now.unanswered > 0;
  if (!waits || !is_silent_ || now.acknowledged != before_.acknowledged) {
    before_ = now;
    begin_ = at;
    is_silent_ = waits;
    return std::nullopt;
  }
  if (now.in_flight == 0 && now.unanswered < kProbes) return std::nullopt;
  return DeadLink{.silent = std::chrono::floor<std::chrono::milliseconds>(at - begin_),
                  .in_flight = now.in_flight,
                  .hears_peer = now.arrived > before_.arrived + 1};
}

}  // namespace bp
