#include <algorithm>
#include <array>

#include "comm/backend/shared.h"
#include "comm/backend/shared_parts.h"
#include "comm/reduce/reduce.h"

namespace bp {
namespace {

// Up to here a meeting costs more than that every rank reduces everything.
constexpr std::size_t kAtOnce = std::size_t{8} << 10;

void reduce_all(DataType type,
                ReduceOp op,
                std::span<std::byte* const> outs,
                std::span<const std::byte* const> parts,
                std::size_t count) {
  if (op == ReduceOp::average) return average_parts(type, outs, parts, count);
  reduce_parts(type, op, outs, parts, count);
}

}  // namespace

void SharedBackend::all_reduce(Call& call, View data, ReduceOp op) {
  call.expect(data.bytes());
  if (data.bytes() <= kAtOnce && data.bytes() <= chunk_) return all_reduce_at_once(call, data, op);
  all_reduce_in_shares(call, data, op);
}

// One meeting: every rank finds all vectors on the board or on the stages, and reduces them itself.
void SharedBackend::all_reduce_at_once(Call& call, View data, ReduceOp op) {
  const bool on_board = data.bytes() <= Board::kInlineBytes;
  if (on_board) {
    meet(call, Board::kNowhere, {data.data, data.bytes()});
  } else {
    copy_bytes(stage(rank_, 0), data.data, data.bytes());
    meet(call);
  }
  for (int peer = 0; peer < size(); ++peer) {
    parts_[static_cast<std::size_t>(peer)] =
        on_board ? board_.notice_of(peer).bytes.data() : stage(peer, 0);
  }
  reduce_all(data.type, op, std::array{data.data}, parts_, data.count);
  if (!on_board) leave_stage(1);
}

// Each rank reduces its share of all vectors and writes it into all of them: in place where they
// are shown, else by way of the stages. There a rank's share in a chunk is at first left free,
// since nobody else reduces it, and then takes the result, which the others fetch after the next
// meeting. While they do, the rank brings the others' shares of the next chunk but one: so all
// chunks are cut at the same places.
void SharedBackend::all_reduce_in_shares(Call& call, View data, ReduceOp op) {
  const std::size_t bytes = data.bytes();
  const std::size_t element = size_of(data.type);
  const bool shown = host_->own().offset_of(data.data, bytes).has_value();
  std::size_t a_step =
      whole_lines((bytes - 1) / steps_of(bytes, chunk_) + 1);  // if not all are shown
  // What of `peer`'s share there is in a step.
  const auto share = [&](int peer, std::size_t step) {
    const Block lines = block_of(whole_lines(a_step) / kCacheLine, size(), peer);
    const std::size_t length = std::min(a_step, bytes - step * a_step);
    const std::size_t begin = std::min(length, lines.offset * kCacheLine);
    return Block{begin, std::min(length, (lines.offset + lines.count) * kCacheLine) - begin};
  };
  const auto bring = [&](std::size_t step) {
    for (int peer = 0; peer < size(); ++peer) {
      const Block theirs = share(peer, step);
      if (peer == rank_ || shown) continue;
      copy_bytes(stage(rank_, step) + theirs.offset, data.data + step * a_step + theirs.offset,
                 theirs.count);
    }
  };
  const auto fetch = [&](std::size_t step) {
    for (int peer = 0; peer < size(); ++peer) {
      const Block theirs = share(peer, step);
      if (peer == rank_ || shown) continue;
      copy_bytes(data.data + step * a_step + theirs.offset, stage(peer, step) + theirs.offset,
                 theirs.count);
    }
  };
  bring(0);
  meet_with(call, data.data, bytes);
  if (are_all_shown()) a_step = bytes;
  const std::size_t steps = steps_of(bytes, a_step);
  for (std::size_t step = 0; step < steps; ++step) {
    const Block own = share(rank_, step);
    const std::size_t at = step * a_step + own.offset;
    outs_.assign(1, data.data + at);
    for (int peer = 0; peer < size(); ++peer) {
      std::byte* const theirs =
          is_shown(peer) ? shown_at(peer, at) : stage(peer, step) + own.offset;
      parts_[static_cast<std::size_t>(peer)] = peer == rank_ ? data.data + at : theirs;
      if (peer != rank_ && is_shown(peer)) outs_.push_back(theirs);
    }
    if (!are_all_shown()) outs_.push_back(stage(rank_, step) + own.offset);
    reduce_all(data.type, op, outs_, parts_, own.count / element);
    if (step + 1 < steps) bring(step + 1);
    meet(call);
    fetch(step);
    call.count(std::min(a_step, bytes - step * a_step));
  }
  if (!are_all_shown()) leave_stage(steps);
}

// Each rank reduces its block of all vectors. On the stage lies the same piece of every block, one
// after another.
void SharedBackend::reduce_scatter(Call& call, ConstView input, View output, ReduceOp op) {
  const std::size_t element = size_of(input.type);
  const std::size_t room = chunk_ / channels_.size() / kCacheLine * kCacheLine;  // of a piece
  const auto block = [&](int r) { return block_of(input.count, size(), r); };
  const std::size_t longest = block(0).count * element;
  const bool shown = host_->own().offset_of(input.data, input.bytes()).has_value();
  const auto show = [&](std::size_t step) {
    for (int r = 0; r < size() && !shown; ++r) {
      const std::size_t begin = step * room;
      const std::size_t bytes = block(r).count * element;
      if (begin >= bytes) continue;
      copy_bytes(stage(rank_, step) + static_cast<std::size_t>(r) * room,
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
    reduce_all(input.type, op, std::array{output.data + begin}, parts_, length / element);
    call.count(length);
    show(step + 1);
    meet(call);
  }
  if (!are_all_shown()) leave_stage(steps);
}

}  // namespace bp
