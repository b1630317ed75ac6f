#include "comm/backend/shared.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "comm/backend/algorithms.h"
#include "comm/backend/exchange.h"
#include "comm/backend/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {
namespace {

// A chunk of so few bytes stays in the first-level caches of those who write and read it.
constexpr std::size_t kInFirstCaches = std::size_t{8} << 10;

}  // namespace

SharedBackend::SharedBackend(std::shared_ptr<SharedHost> host,
                             std::vector<PhaseBarrier::Place> channels,
                             int rank,
                             std::size_t chunk)
    : host_(std::move(host)),
      channels_(std::move(channels)),
      rank_(rank),
      chunk_(chunk),
      barrier_(host_, channels_, rank),
      offsets_(channels_.size(), PhaseBarrier::kNowhere),
      ring_(chunk),
      parts_(channels_.size()) {}

void SharedBackend::meet(CollectiveCall& call,
                         std::uint64_t offset,
                         std::span<const std::byte> bytes) {
  PhaseBarrier::Announcement announcement{.header = call.context().slot, .offset = offset};
  std::ranges::copy(bytes, announcement.bytes.begin());
  barrier_.arrive(announcement);
  while (const auto late = barrier_.late()) {
    call.wait_for(*late, [&](const Deadline& deadline, const std::atomic<bool>& stop) {
      return barrier_.wait(*late, deadline, stop);
    });
  }
  for (int peer = 0; peer < size(); ++peer) {
    if (barrier_.announcement_of(peer).header != announcement.header) call.disagree(peer);
  }
}

void SharedBackend::meet_with(CollectiveCall& call, const std::byte* vector, std::size_t bytes) {
  meet(call, host_->own().offset_of(vector, bytes).value_or(PhaseBarrier::kNowhere));
  for (int peer = 0; peer < size(); ++peer) {
    offsets_[static_cast<std::size_t>(peer)] = barrier_.announcement_of(peer).offset;
  }
  call.use(are_all_shown() ? "direct" : "staged");
}

bool SharedBackend::is_shown(int peer) const {
  return offsets_[static_cast<std::size_t>(peer)] != PhaseBarrier::kNowhere;
}

bool SharedBackend::are_all_shown() const {
  return std::ranges::count(offsets_, PhaseBarrier::kNowhere) == 0;
}

bool SharedBackend::is_nobody_shown() const {
  return std::ranges::count(offsets_, PhaseBarrier::kNowhere) == size();
}

// Else every page would be a fault in each process that comes to it.
void SharedBackend::map_stages() const {
  for (const PhaseBarrier::Place& channel : channels_) {
    host_->map(channel.rank, channel.offset + SharedChannel::kStage, StageRing::kChunks * chunk_);
  }
}

std::size_t SharedBackend::enter_stage(std::size_t bytes, std::size_t pieces) {
  const std::size_t most = chunk_ / pieces / kCacheLine * kCacheLine;
  const std::size_t room = std::clamp(whole_lines(bytes), kCacheLine, most);
  far_ = barrier_.is_far();
  // Ranks that take turns on a core find there what they hand over to each other.
  const bool round = !far_ && !barrier_.is_crowded() && room * pieces > kInFirstCaches;
  if (round && !std::exchange(stages_mapped_, true)) map_stages();
  round ? ring_.begin_round(room * pieces) : ring_.begin(room * pieces);
  return room;
}

std::byte* SharedBackend::stage(int peer, std::size_t step) const {
  const PhaseBarrier::Place& channel = channels_[static_cast<std::size_t>(peer)];
  return host_->at(channel.rank, channel.offset + SharedChannel::kStage + ring_.place(step));
}

void SharedBackend::hand_over(std::byte* to, const std::byte* from, std::size_t bytes) const {
  constexpr std::size_t kFew = 256;  // quicker by any way than a fence
  if (bytes > kFew && far_) return stream(to, from, bytes);
  copy_bytes(to, from, bytes);
}

std::byte* SharedBackend::shown_at(int peer, std::size_t at) const {
  const auto index = static_cast<std::size_t>(peer);
  return host_->at(channels_[index].rank, offsets_[index] + at);
}

std::byte* SharedBackend::part(int peer, std::size_t begin, std::size_t step) const {
  return is_shown(peer) ? shown_at(peer, begin) : stage(peer, step);
}

void SharedBackend::run(const Operation& operation, CollectiveCall& call) {
  const View& output = operation.output;
  switch (operation.kind) {
    case Operation::Kind::all_reduce:
      all_reduce(call, output, operation.reduce);
      return;
    case Operation::Kind::broadcast:
      broadcast(call, output, operation.root);
      return;
    case Operation::Kind::reduce_scatter:
      reduce_scatter(call, operation.input, output, operation.counts, operation.reduce);
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
      call.use("board");
      meet(call);
      return;
    case Operation::Kind::reduce:
      reduce(call, output, operation.reduce, operation.root);
      return;
    case Operation::Kind::gather:
    case Operation::Kind::scatter:
    case Operation::Kind::all_to_all:
      exchange(call, exchange_of(operation, rank_, size(), {}), operation.input.bytes());
      return;
    case Operation::Kind::all_to_all_v: {
      const CountTable table = agree_on_counts(operation, call, [&](const Operation& counts) {
        all_gather(call, counts.output, counts.counts);
      });
      exchange(call, exchange_of(operation, rank_, size(), table), operation.input.bytes());
      return;
    }
    case Operation::Kind::all_reduce_grouped:  // perform.h makes others of these
    case Operation::Kind::join:
    case Operation::Kind::message:  // goes by the transport, without a backend
      BP_CHECK(false, "no backend is given groups or messages");
  }
}

}  // namespace bp
