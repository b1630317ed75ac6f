#include <array>

#include "comm/backend/shared.h"
#include "comm/backend/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {

// Each rank reduces its share of all vectors into root's: in place where that is shown, else on
// root's stage. A step is a chunk unless all are shown.
void SharedBackend::reduce(CollectiveCall& call, View data, ReduceOp op, int root) {
  const std::size_t bytes = data.bytes();
  call.expect(bytes);
  if (bytes <= PhaseBarrier::kInlineBytes) return reduce_at_barrier(call, data, op, root);
  const std::size_t chunk = enter_stage(bytes);
  const bool shown = host_->own().offset_of(data.data, bytes).has_value();
  const auto show = [&](std::size_t step) {
    const std::size_t begin = step * chunk;
    if (!shown) hand_over(stage(rank_, step), data.data + begin, std::min(chunk, bytes - begin));
  };
  show(0);
  meet_with(call, data.data, bytes);
  const std::size_t a_step = are_all_shown() ? bytes : chunk;
  const std::size_t steps = steps_of(bytes, a_step);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = step * a_step;
    const std::size_t length = std::min(a_step, bytes - begin);
    const Block own = share_of(whole_lines(length), length, size(), rank_);
    for (int peer = 0; peer < size(); ++peer) {
      parts_[static_cast<std::size_t>(peer)] = part(peer, begin, step) + own.offset;
    }
    reduce_vectors(data.type, op, std::array{part(root, begin, step) + own.offset}, parts_,
                   own.count / size_of(data.type));
    if (step + 1 < steps) show(step + 1);
    meet(call);
    if (rank_ == root && !shown) copy_bytes(data.data + begin, stage(rank_, step), length);
    call.count(length);
  }
  if (!are_all_shown()) leave_stage(steps);
}

}  // namespace bp
