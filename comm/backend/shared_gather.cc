#include <algorithm>

#include "comm/backend/algorithms.h"
#include "comm/backend/shared.h"
#include "comm/backend/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {

void SharedBackend::broadcast(CollectiveCall& call, View data, int root) {
  const std::size_t bytes = data.bytes();
  const std::size_t chunk = enter_stage(bytes);
  const bool shown = host_->own().offset_of(data.data, bytes).has_value();
  const auto show = [&](std::size_t step) {
    const std::size_t begin = step * chunk;
    if (rank_ != root || shown || begin >= bytes) return;
    hand_over(stage(rank_, step), data.data + begin, std::min(chunk, bytes - begin));
  };
  call.expect(rank_ == root ? 0 : bytes);
  show(0);
  meet_with(call, data.data, bytes);
  const std::size_t a_step = is_shown(root) ? std::max(bytes, std::size_t{1}) : chunk;
  const std::size_t steps = steps_of(bytes, a_step);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = step * a_step;
    const std::size_t length = std::min(a_step, bytes - begin);
    if (rank_ != root) copy_bytes(data.data + begin, part(root, begin, step), length);
    show(step + 1);
    meet(call);
    call.count(length);
  }
  if (!is_shown(root)) leave_stage(steps);
}

// Each rank shows its block, and copies all others'.
void SharedBackend::all_gather(CollectiveCall& call,
                               View data,
                               std::span<const std::size_t> counts) {
  const std::size_t element = size_of(data.type);
  const auto begin_of = [&](int r) { return gathered_block(counts, r).offset * element; };
  const auto bytes_of = [&](int r) { return counts[static_cast<std::size_t>(r)] * element; };
  std::byte* const own = data.data + begin_of(rank_);
  const std::size_t own_bytes = bytes_of(rank_);
  const std::size_t longest = std::ranges::max(counts) * element;
  const std::size_t chunk = enter_stage(longest);
  const bool shown = host_->own().offset_of(own, own_bytes).has_value();
  const auto show = [&](std::size_t step) {
    const std::size_t begin = step * chunk;
    if (shown || begin >= own_bytes) return;
    hand_over(stage(rank_, step), own + begin, std::min(chunk, own_bytes - begin));
  };
  call.expect(data.bytes() - own_bytes);
  show(0);
  meet_with(call, own, own_bytes);
  const std::size_t a_step = are_all_shown() ? std::max(longest, std::size_t{1}) : chunk;
  const std::size_t steps = steps_of(longest, a_step);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = step * a_step;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank_ || begin >= bytes_of(peer)) continue;
      const std::size_t length = std::min(a_step, bytes_of(peer) - begin);
      copy_bytes(data.data + begin_of(peer) + begin, part(peer, begin, step), length);
      call.count(length);
    }
    show(step + 1);
    meet(call);
  }
  if (!are_all_shown()) leave_stage(steps);
}

}  // namespace bp
