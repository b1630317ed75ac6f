#include <algorithm>

#include "comm/backend/network/algorithms.h"
#include "comm/backend/shared/shared_algorithms.h"
#include "comm/backend/shared/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {

// Each rank copies all others' blocks out of their inputs, and its own.
void shared_all_gather(SharedVectors& vectors,
                       CollectiveCall& call,
                       ConstView input,
                       View data,
                       std::span<const std::size_t> counts) {
  const int rank = vectors.rank();
  const std::size_t element = size_of(data.type);
  const auto begin_of = [&](int r) { return gathered_block(counts, r).offset * element; };
  const auto bytes_of = [&](int r) { return counts[static_cast<std::size_t>(r)] * element; };
  const std::byte* const own = input.data;
  const std::size_t own_bytes = bytes_of(rank);
  const std::size_t longest = std::ranges::max(counts) * element;
  call.expect(data.bytes() - own_bytes);
  if (longest <= PhaseBarrier::kInlineBytes) {
    vectors.pass_inline_barrier(call, {own, own_bytes}, vectors.all());
    copy_bytes(data.data + begin_of(rank), own, own_bytes);
    for (int peer = 0; peer < vectors.size(); ++peer) {
      if (peer == rank) continue;
      copy_bytes(data.data + begin_of(peer), vectors.inline_bytes(peer), bytes_of(peer));
    }
    return;
  }
  const std::size_t chunk = vectors.enter_stage(call, longest);
  const auto inputs_and_outputs = static_cast<std::size_t>(vectors.size() + 1) * data.bytes();
  const ResultCopies results(inputs_and_outputs, vectors.size());
  const bool open = vectors.size() == 2 && results.go_past_caches() && vectors.can_be_open();
  const bool stages = !open && !vectors.can_be_direct(own, own_bytes);
  const auto bring = [&](std::size_t step) {
    const std::size_t begin = step * chunk;
    if (!stages || begin >= own_bytes) return;
    vectors.copy_to_stage(vectors.stage(rank, step), own + begin,
                          std::min(chunk, own_bytes - begin));
  };
  bring(0);
  vectors.announce(call, own, own_bytes, bytes_of, open);
  results.copy(data.data + begin_of(rank), own, own_bytes);
  const bool none_staged = vectors.are_none_staged();
  const std::size_t a_step = none_staged ? std::max(longest, std::size_t{1}) : chunk;
  const std::size_t steps = steps_of(longest, a_step);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = step * a_step;
    for (int peer = 0; peer < vectors.size(); ++peer) {
      if (peer == rank || begin >= bytes_of(peer)) continue;
      const std::size_t length = std::min(a_step, bytes_of(peer) - begin);
      std::byte* const to = data.data + begin_of(peer) + begin;
      if (vectors.is_open(peer)) {
        vectors.read(call, peer, begin, to, length);
      } else {
        results.copy(to, vectors.part(peer, begin, step), length);
      }
      call.count(length);
    }
    bring(step + 1);
    vectors.pass_barrier_after(step, steps, call);
  }
  if (!none_staged) vectors.leave_stage(steps);
}

}  // namespace bp
