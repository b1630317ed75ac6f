#include <algorithm>
#include <array>

#include "comm/backend/shared_algorithms.h"
#include "comm/backend/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {

// Each rank reduces its share of all vectors into the root's, directly or on the root's stage. A
// step is a chunk unless all vectors are direct.
void shared_reduce(SharedVectors& vectors, CollectiveCall& call, View data, ReduceOp op, int root) {
  const int rank = vectors.rank();
  const std::size_t bytes = data.bytes();
  call.expect(bytes);
  if (bytes <= PhaseBarrier::kInlineBytes) {
    return shared_inline_reduce(vectors, call, data, op, root);
  }
  const std::size_t chunk = vectors.enter_stage(bytes);
  const bool is_direct = vectors.can_be_direct(data.data, bytes);
  const auto bring = [&](std::size_t step) {
    const std::size_t begin = step * chunk;
    if (is_direct || begin >= bytes) return;
    vectors.copy_to_stage(vectors.stage(rank, step), data.data + begin,
                          std::min(chunk, bytes - begin));
  };
  bring(0);
  vectors.announce(call, data.data, bytes);
  const bool all_direct = vectors.are_all_direct();
  const std::size_t a_step = all_direct ? bytes : chunk;
  const std::size_t steps = steps_of(bytes, a_step);
  auto& sources = vectors.sources();
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = step * a_step;
    const std::size_t length = std::min(a_step, bytes - begin);
    const Block own = share_of(whole_lines(length), length, vectors.size(), rank);
    for (int peer = 0; peer < vectors.size(); ++peer) {
      sources[static_cast<std::size_t>(peer)] = vectors.part(peer, begin, step) + own.offset;
    }
    reduce_vectors(data.type, op, std::array{vectors.part(root, begin, step) + own.offset}, sources,
                   own.count / size_of(data.type));
    bring(step + 1);
    vectors.pass_barrier(call);
    if (rank == root && !is_direct) {
      copy_bytes(data.data + begin, vectors.stage(rank, step), length);
    }
    call.count(length);
  }
  if (!all_direct) vectors.leave_stage(steps);
}

}  // namespace bp
