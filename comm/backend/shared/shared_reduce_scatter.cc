#include <algorithm>
#include <array>

#include "comm/backend/network/algorithms.h"
#include "comm/backend/shared/shared_algorithms.h"
#include "comm/backend/shared/shared_parts.h"

namespace bp {

// Each rank reduces its block of all vectors. The stage holds the same piece of every block, one
// after another.
void shared_reduce_scatter(SharedVectors& vectors,
                           CollectiveCall& call,
                           ConstView input,
                           View output,
                           std::span<const std::size_t> counts,
                           ReduceOp op) {
  const int rank = vectors.rank();
  const int ranks = vectors.size();
  const std::size_t element = size_of(input.type);
  const auto block = [&](int r) { return gathered_block(counts, r); };
  const std::size_t longest = std::ranges::max(counts) * element;
  auto& sources = vectors.sources();
  call.expect(output.bytes());
  if (input.bytes() <= PhaseBarrier::kInlineBytes) {
    vectors.pass_inline_barrier(call, {input.data, input.bytes()}, vectors.all());
    for (int peer = 0; peer < ranks; ++peer) {
      sources[static_cast<std::size_t>(peer)] =
          vectors.inline_bytes(peer) + block(rank).offset * element;
    }
    return reduce_vectors(input.type, op, std::array{output.data}, sources, output.count);
  }
  const std::size_t room = vectors.enter_stage(call, longest, static_cast<std::size_t>(ranks));
  const bool is_direct = vectors.can_be_direct(input.data, input.bytes());
  const auto bring = [&](std::size_t step) {
    for (int r = 0; r < ranks && !is_direct; ++r) {
      const std::size_t begin = step * room;
      const std::size_t bytes = block(r).count * element;
      if (begin >= bytes) continue;
      vectors.copy_to_stage(vectors.stage(rank, step) + static_cast<std::size_t>(r) * room,
                            input.data + block(r).offset * element + begin,
                            std::min(room, bytes - begin));
    }
  };
  bring(0);
  vectors.announce(call, input.data, input.bytes());
  const bool all_direct = vectors.are_none_staged();
  const std::size_t a_step = all_direct ? std::max(longest, std::size_t{1}) : room;
  const std::size_t steps = steps_of(longest, a_step);
  const std::size_t bytes = output.bytes();
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = std::min(step * a_step, bytes);
    const std::size_t length = std::min(a_step, bytes - begin);
    for (int peer = 0; peer < ranks; ++peer) {
      sources[static_cast<std::size_t>(peer)] =
          vectors.is_direct(peer)
              ? vectors.direct(peer, block(rank).offset * element + begin)
              : vectors.stage(peer, step) + static_cast<std::size_t>(rank) * room;
    }
    reduce_vectors(input.type, op, std::array{output.data + begin}, sources, length / element);
    call.count(length);
    bring(step + 1);
    vectors.pass_barrier_after(step, steps, call);
  }
  if (!all_direct) vectors.leave_stage(steps);
}

}  // namespace bp
