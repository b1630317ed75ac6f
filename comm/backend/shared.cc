#include "comm/backend/shared.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "comm/backend/algorithms.h"
#include "comm/reduce/reduce.h"

namespace bp {
namespace {

constexpr std::size_t kLine = 64;
// So much is reduced at a time: it is still in the cache when it is copied to the other ranks.
constexpr std::size_t kTile = std::size_t{16} << 10;

// A rank's share of `count` elements, in whole cache lines: no two ranks write into one.
Block share_of(std::size_t count, std::size_t element, int ranks, int rank) {
  const std::size_t a_line = kLine / element;
  const Block lines = block_of((count + a_line - 1) / a_line, ranks, rank);
  const std::size_t begin = std::min(count, lines.offset * a_line);
  return {begin, std::min(count, (lines.offset + lines.count) * a_line) - begin};
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

// into = parts[0] op parts[1] op ..., always in this order. `into` may be parts[0].
void reduce_all(DataType type,
                ReduceOp op,
                std::byte* into,
                std::span<const std::byte* const> parts,
                std::size_t count) {
  if (parts.size() == 1) return copy_bytes(into, parts[0], count * size_of(type));
  reduce_to(type, op, into, parts[0], parts[1], count);
  for (const std::byte* const part : parts.subspan(2)) reduce(type, op, into, part, count);
  if (op == ReduceOp::average) finish_average(type, into, count, static_cast<int>(parts.size()));
}

std::size_t steps_of(std::size_t bytes, std::size_t a_step) {
  return std::max(std::size_t{1}, (bytes + a_step - 1) / a_step);
}

}  // namespace

SharedBackend::SharedBackend(std::shared_ptr<SharedHost> host,
                             std::vector<Board::Place> channels,
                             int rank,
                             std::size_t chunk)
    : host_(std::move(host)),
      channels_(std::move(channels)),
      rank_(rank),
      chunk_(chunk),
      board_(host_, channels_, rank),
      offsets_(channels_.size(), Board::kNowhere) {}

void SharedBackend::meet(Call& call, std::uint64_t offset, std::span<const std::byte> bytes) {
  Board::Notice notice{.header = call.context().slot, .offset = offset};
  std::ranges::copy(bytes, notice.bytes.begin());
  board_.arrive(notice);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_ || board_.arrives_soon(peer)) continue;
    call.wait_for(peer, [&](const Deadline& deadline, const std::atomic<bool>& stop) {
      return board_.wait(peer, deadline, stop);
    });
  }
  for (int peer = 0; peer < size(); ++peer) {
    if (board_.notice_of(peer).header != notice.header) call.disagree(peer);
  }
}

void SharedBackend::meet_with(Call& call, const std::byte* vector, std::size_t bytes) {
  meet(call, host_->own().offset_of(vector, bytes).value_or(Board::kNowhere));
  for (int peer = 0; peer < size(); ++peer) {
    offsets_[static_cast<std::size_t>(peer)] = board_.notice_of(peer).offset;
  }
}

bool SharedBackend::is_shown(int peer) const {
  return offsets_[static_cast<std::size_t>(peer)] != Board::kNowhere;
}

bool SharedBackend::are_all_shown() const {
  return std::ranges::count(offsets_, Board::kNowhere) == 0;
}

std::byte* SharedBackend::stage(int peer, std::size_t step) const {
  const Board::Place& channel = channels_[static_cast<std::size_t>(peer)];
  return host_->at(channel.rank, channel.offset + SharedChannel::kStage + step % 2 * chunk_);
}

std::byte* SharedBackend::part(int peer, std::size_t begin, std::size_t step) const {
  const auto index = static_cast<std::size_t>(peer);
  return is_shown(peer) ? host_->at(channels_[index].rank, offsets_[index] + begin)
                        : stage(peer, step);
}

// One meeting: every rank finds all vectors in the lines of the board, and reduces them itself.
void SharedBackend::all_reduce_in_lines(Call& call, View data, ReduceOp op) {
  call.expect(data.bytes());
  meet(call, Board::kNowhere, {data.data, data.bytes()});
  std::vector<const std::byte*> parts;
  for (int peer = 0; peer < size(); ++peer) parts.push_back(board_.notice_of(peer).bytes.data());
  reduce_all(data.type, op, data.data, parts, data.count);
}

// Each rank reduces its share of all vectors and writes it into all of them, in place.
void SharedBackend::all_reduce(Call& call, View data, ReduceOp op) {
  const std::size_t bytes = data.bytes();
  const std::size_t element = size_of(data.type);
  const bool shown = host_->own().offset_of(data.data, bytes).has_value();
  const auto show = [&](std::size_t step) {
    const std::size_t begin = step * chunk_;
    if (!shown) copy_bytes(stage(rank_, step), data.data + begin, std::min(chunk_, bytes - begin));
  };
  call.expect(bytes);
  show(0);
  meet_with(call, data.data, bytes);
  const std::size_t a_step = are_all_shown() ? bytes : chunk_;
  const std::size_t steps = steps_of(bytes, a_step);
  std::vector<const std::byte*> parts(offsets_.size());
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = step * a_step;
    const std::size_t length = std::min(a_step, bytes - begin);
    const Block share = share_of(length / element, element, size(), rank_);
    const std::size_t end = (share.offset + share.count) * element;
    for (std::size_t at = share.offset * element; at < end; at += kTile) {
      const std::size_t tile = std::min(kTile, end - at);
      for (int peer = 0; peer < size(); ++peer) {
        parts[static_cast<std::size_t>(peer)] = part(peer, begin, step) + at;
      }
      std::byte* const first = part(0, begin, step) + at;
      reduce_all(data.type, op, first, parts, tile / element);
      for (int peer = 1; peer < size(); ++peer)
        copy_bytes(part(peer, begin, step) + at, first, tile);
    }
    if (step + 1 < steps) show(step + 1);
    meet(call);
    if (!shown) copy_bytes(data.data + begin, stage(rank_, step), length);
    call.count(length);
  }
}

void SharedBackend::broadcast(Call& call, View data, int root) {
  const std::size_t bytes = data.bytes();
  const bool shown = host_->own().offset_of(data.data, bytes).has_value();
  const auto show = [&](std::size_t step) {
    const std::size_t begin = step * chunk_;
    if (rank_ != root || shown || begin >= bytes) return;
    copy_bytes(stage(rank_, step), data.data + begin, std::min(chunk_, bytes - begin));
  };
  call.expect(rank_ == root ? 0 : bytes);
  show(0);
  meet_with(call, data.data, bytes);
  const std::size_t a_step = is_shown(root) ? std::max(bytes, std::size_t{1}) : chunk_;
  const std::size_t steps = steps_of(bytes, a_step);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = step * a_step;
    const std::size_t length = std::min(a_step, bytes - begin);
    if (rank_ != root) copy_bytes(data.data + begin, part(root, begin, step), length);
    show(step + 1);
    meet(call);
    call.count(length);
  }
}

// Each rank shows its block, and copies all others'.
void SharedBackend::all_gather(Call& call, View data, std::span<const std::size_t> counts) {
  const std::size_t element = size_of(data.type);
  const auto begin_of = [&](int r) { return gathered_block(counts, r).offset * element; };
  const auto bytes_of = [&](int r) { return counts[static_cast<std::size_t>(r)] * element; };
  std::byte* const own = data.data + begin_of(rank_);
  const std::size_t own_bytes = bytes_of(rank_);
  const bool shown = host_->own().offset_of(own, own_bytes).has_value();
  const auto show = [&](std::size_t step) {
    const std::size_t begin = step * chunk_;
    if (shown || begin >= own_bytes) return;
    copy_bytes(stage(rank_, step), own + begin, std::min(chunk_, own_bytes - begin));
  };
  call.expect(data.bytes() - own_bytes);
  show(0);
  meet_with(call, own, own_bytes);
  const std::size_t longest = std::ranges::max(counts) * element;
  const std::size_t a_step = are_all_shown() ? std::max(longest, std::size_t{1}) : chunk_;
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
}

// Each rank reduces its block of all vectors. On the stage lies the same piece of every block, one
// after another.
void SharedBackend::reduce_scatter(Call& call, ConstView input, View output, ReduceOp op) {
  const std::size_t element = size_of(input.type);
  const std::size_t room = chunk_ / channels_.size() / kLine * kLine;  // of a piece
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
  std::vector<const std::byte*> parts(offsets_.size());
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = step * a_step;
    const std::size_t length = std::min(a_step, bytes - std::min(begin, bytes));
    for (std::size_t at = 0; at < length; at += kTile) {
      for (int peer = 0; peer < size(); ++peer) {
        parts[static_cast<std::size_t>(peer)] =
            at + (is_shown(peer) ? part(peer, block(rank_).offset * element + begin, step)
                                 : stage(peer, step) + static_cast<std::size_t>(rank_) * room);
      }
      const std::size_t tile = std::min(kTile, length - at);
      reduce_all(input.type, op, output.data + begin + at, parts, tile / element);
    }
    call.count(length);
    show(step + 1);
    meet(call);
  }
}

void SharedBackend::run(const Operation& operation, Call& call) {
  const View& output = operation.output;
  switch (operation.kind) {
    case Operation::Kind::all_reduce:
      if (output.bytes() <= Board::kInlineBytes) {
        all_reduce_in_lines(call, output, operation.reduce);
      } else {
        all_reduce(call, output, operation.reduce);
      }
      return;
    case Operation::Kind::broadcast:
      broadcast(call, output, operation.root);
      return;
    case Operation::Kind::reduce_scatter:
      reduce_scatter(call, operation.input, output, operation.reduce);
      return;
    case Operation::Kind::all_gather: {
      const Block own = gathered_block(operation.counts, rank_);
      const std::size_t offset = own.offset * size_of(output.type);
      if (operation.input.data != output.data + offset && operation.input.bytes() > 0) {
        std::memmove(output.data + offset, operation.input.data, operation.input.bytes());
      }
      all_gather(call, output, operation.counts);
      return;
    }
    case Operation::Kind::barrier:
      meet(call);
      return;
  }
}

}  // namespace bp
