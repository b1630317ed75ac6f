#include <algorithm>
#include <array>

#include "comm/backend/algorithms.h"
#include "comm/backend/shared.h"
#include "comm/backend/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {
namespace {

// Up to here a second meeting costs more than it saves.
constexpr std::size_t kAtOnce = std::size_t{8} << 10;
// Likewise for two ranks that need not both widen and round the same halves.
constexpr std::size_t kHalvesAtOnce = std::size_t{64} << 10;
// Up to here a vector is not worked on where it is, but handed over like any other.
constexpr std::size_t kShort = 512;
// So much of all ranks' vectors is on the stages at a time: more would not stay in the caches.
constexpr std::size_t kOnStages = std::size_t{2} << 20;

}  // namespace

// Vectors that lie elsewhere are staged in chunks, and reduced in one of two ways:
//   at once    every rank reduces the whole chunk for itself
//   in shares  each reduces its share and writes it into all vectors, in place or by the stages
// Two ranks hand over as much in either way, so at once is better, but for halves between near
// cores, where the arithmetic is what takes the time; more of them have less to read in shares.
bool SharedBackend::reduces_at_once(DataType type, std::size_t bytes) const {
  if (bytes <= kAtOnce) return true;
  const bool halves = type == DataType::f16 || type == DataType::bf16;
  return size() == 2 && !(halves && bytes > kHalvesAtOnce && !barrier_.is_far());
}

void SharedBackend::all_reduce(CollectiveCall& call, View data, ReduceOp op) {
  const std::size_t bytes = data.bytes();
  call.expect(bytes);
  if (bytes <= PhaseBarrier::kInlineBytes) return reduce_at_barrier(call, data, op);
  const bool shown = bytes > kShort && host_->own().offset_of(data.data, bytes).has_value();
  const bool at_once = reduces_at_once(data.type, bytes);
  const std::size_t most = std::min(chunk_, whole_lines(kOnStages / channels_.size()));
  const std::size_t chunk = enter_stage((bytes - 1) / steps_of(bytes, most) + 1);
  const Staged staged{.data = data, .chunk = chunk, .shown = shown, .at_once = at_once};
  bring(staged, 0);
  meet_with(call, shown ? data.data : nullptr, bytes);
  if (at_once && is_nobody_shown()) {
    all_reduce_at_once(call, staged, op);
  } else {
    all_reduce_in_shares(call, staged, op);
  }
}

// One meeting: every rank finds all vectors on the board. Who wants the result reduces them.
void SharedBackend::reduce_at_barrier(CollectiveCall& call,
                                      View data,
                                      ReduceOp op,
                                      std::optional<int> root) {
  call.use("board");
  meet(call, PhaseBarrier::kNowhere, {data.data, data.bytes()});
  if (root && *root != rank_) return;
  for (int peer = 0; peer < size(); ++peer) {
    parts_[static_cast<std::size_t>(peer)] = barrier_.announcement_of(peer).bytes.data();
  }
  reduce_vectors(data.type, op, std::array{data.data}, parts_, data.count);
}

// What there is of `peer`'s share in a step, in bytes from its beginning.
Block SharedBackend::share(const Staged& staged, int peer, std::size_t step) const {
  const std::size_t length = std::min(staged.chunk, staged.data.bytes() - step * staged.chunk);
  return share_of(whole_lines(length), length, size(), peer);
}

// Puts on our stage what the others will reduce of a chunk.
void SharedBackend::bring(const Staged& staged, std::size_t step) {
  const std::size_t begin = step * staged.chunk;
  if (staged.shown || begin >= staged.data.bytes()) return;
  for (int peer = 0; peer < size(); ++peer) {
    const Block theirs = share(staged, peer, step);
    if (peer == rank_ && !staged.at_once) continue;
    hand_over(stage(rank_, step) + theirs.offset, staged.data.data + begin + theirs.offset,
              theirs.count);
  }
}

// Takes the others' results of a chunk from their stages.
void SharedBackend::fetch(const Staged& staged, std::size_t step) const {
  if (staged.shown) return;
  for (int peer = 0; peer < size(); ++peer) {
    const Block theirs = share(staged, peer, step);
    if (peer == rank_) continue;
    copy_bytes(staged.data.data + step * staged.chunk + theirs.offset,
               stage(peer, step) + theirs.offset, theirs.count);
  }
}

void SharedBackend::all_reduce_at_once(CollectiveCall& call, const Staged& staged, ReduceOp op) {
  const View& data = staged.data;
  const std::size_t steps = steps_of(data.bytes(), staged.chunk);
  for (std::size_t step = 0; step < steps; ++step) {
    if (step > 0) meet(call);
    bring(staged, step + 1);
    const std::size_t begin = step * staged.chunk;
    const std::size_t length = std::min(staged.chunk, data.bytes() - begin);
    for (int peer = 0; peer < size(); ++peer) {
      parts_[static_cast<std::size_t>(peer)] =
          peer == rank_ ? data.data + begin : stage(peer, step);
    }
    reduce_vectors(data.type, op, std::array{data.data + begin}, parts_,
                   length / size_of(data.type));
    call.count(length);
  }
  leave_stage(steps);
}

// On a stage the place of its rank's own share is free, since nobody else reduces it, and takes the
// result, which the others fetch after the next meeting. While they do, the rank brings the next
// chunk but one.
void SharedBackend::all_reduce_in_shares(CollectiveCall& call, Staged staged, ReduceOp op) {
  const View& data = staged.data;
  if (are_all_shown()) staged.chunk = whole_lines(data.bytes());
  staged.at_once = false;
  const std::size_t steps = steps_of(data.bytes(), staged.chunk);
  for (std::size_t step = 0; step < steps; ++step) {
    const Block own = share(staged, rank_, step);
    const std::size_t at = step * staged.chunk + own.offset;
    outs_.assign(1, data.data + at);
    for (int peer = 0; peer < size(); ++peer) {
      std::byte* const theirs =
          is_shown(peer) ? shown_at(peer, at) : stage(peer, step) + own.offset;
      parts_[static_cast<std::size_t>(peer)] = peer == rank_ ? data.data + at : theirs;
      if (peer != rank_ && is_shown(peer)) outs_.push_back(theirs);
    }
    reduce_vectors(data.type, op, outs_, parts_, own.count / size_of(data.type));
    if (!are_all_shown()) hand_over(stage(rank_, step) + own.offset, data.data + at, own.count);
    bring(staged, step + 1);
    meet(call);
    fetch(staged, step);
    call.count(std::min(staged.chunk, data.bytes() - step * staged.chunk));
  }
  if (!are_all_shown()) leave_stage(steps);
}

// Each rank reduces its block of all vectors. On the stage lies the same piece of every block, one
// after another.
void SharedBackend::reduce_scatter(CollectiveCall& call,
                                   ConstView input,
                                   View output,
                                   std::span<const std::size_t> counts,
                                   ReduceOp op) {
  const std::size_t element = size_of(input.type);
  const auto block = [&](int r) { return gathered_block(counts, r); };
  const std::size_t longest = std::ranges::max(counts) * element;
  const std::size_t room = enter_stage(longest, channels_.size());
  const bool shown = host_->own().offset_of(input.data, input.bytes()).has_value();
  const auto show = [&](std::size_t step) {
    for (int r = 0; r < size() && !shown; ++r) {
      const std::size_t begin = step * room;
      const std::size_t bytes = block(r).count * element;
      if (begin >= bytes) continue;
      hand_over(stage(rank_, step) + static_cast<std::size_t>(r) * room,
                input.data + block(r).offset * element + begin, std::min(room, bytes - begin));
    }
  };
  call.expect(output.bytes());
  show(0);
  meet_with(call, input.data, input.bytes());
  const std::size_t a_step = are_all_shown() ? std::max(longest, std::size_t{1}) : room;
  const std::size_t steps = steps_of(longest, a_step);
  const std::size_t bytes = output.bytes();
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = std::min(step * a_step, bytes);
    const std::size_t length = std::min(a_step, bytes - begin);
    for (int peer = 0; peer < size(); ++peer) {
      parts_[static_cast<std::size_t>(peer)] =
          is_shown(peer) ? shown_at(peer, block(rank_).offset * element + begin)
                         : stage(peer, step) + static_cast<std::size_t>(rank_) * room;
    }
    reduce_vectors(input.type, op, std::array{output.data + begin}, parts_, length / element);
    call.count(length);
    show(step + 1);
    meet(call);
  }
  if (!are_all_shown()) leave_stage(steps);
}

}  // namespace bp
