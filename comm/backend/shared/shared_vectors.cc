#include "comm/backend/shared/shared_vectors.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "comm/backend/shared/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {
namespace {

// A chunk of at most this size stays in the first-level caches of the ranks that use it.
constexpr std::size_t kInFirstCaches = std::size_t{8} << 10;

}  // namespace

SharedVectors::SharedVectors(std::shared_ptr<SharedHost> host,
                             std::vector<PhaseBarrier::Location> channels,
                             int rank,
                             std::size_t chunk)
    : host_(std::move(host)),
      channels_(std::move(channels)),
      rank_(rank),
      chunk_(chunk),
      barrier_(host_, channels_, rank),
      offsets_(channels_.size(), PhaseBarrier::kNowhere),
      addresses_(channels_.size(), 0),
      ring_(chunk),
      sources_(channels_.size()) {
  for (const PhaseBarrier::Location& channel : channels_) {
    if (channel.offset % kCacheLine == 0 &&
        host_->has(channel.offset, SharedChannel::bytes(chunk))) {
      continue;
    }
    throw Error(ErrorCode::io,
                concat("rank ", host_->first() + channel.rank, " of the world announced byte ",
                       channel.offset,
                       " of its shared memory as the place of a communicator, which cannot lie "
                       "there (do all ranks run the same version of bp?)"));
  }
}

SharedVectors::~SharedVectors() {
  for (const PhaseBarrier::Location& channel : channels_) {
    ChannelPool::leave(host_->at(channel.rank, channel.offset));
  }
  const std::size_t own = channels_[static_cast<std::size_t>(rank_)].offset;
  host_->channels().give_back(own, SharedChannel::bytes(chunk_), channels_.size());
}

void SharedVectors::pass_barrier(CollectiveCall& call,
                                 std::uint64_t offset,
                                 std::span<const std::byte> bytes,
                                 Peers awaited) {
  settle(call);
  PhaseBarrier::Announcement announcement{.header = call.context().slot, .offset = offset};
  std::ranges::copy(bytes, announcement.bytes.begin());
  barrier_.arrive(announcement);
  await(call, awaited);
}

void SharedVectors::await(CollectiveCall& call, Peers peers) {
  while (const auto late = barrier_.late(peers)) {
    call.wait_for(
        *late,
        [&](const Deadline& deadline, const std::atomic<bool>& stop) {
          return barrier_.wait(*late, deadline, stop);
        },
        [this](int peer) { return barrier_.has_arrived(peer); });
  }
  for (int peer = peers.first; peer < peers.end; ++peer) {
    if (barrier_.announcement_of(peer).header != call.context().slot) call.disagree(peer);
  }
}

void SharedVectors::announce(CollectiveCall& call, const std::byte* vector, std::size_t bytes) {
  announce(call, vector, bytes, [bytes](int) { return bytes; });
}

void SharedVectors::announce(CollectiveCall& call,
                             const std::byte* vector,
                             std::size_t bytes,
                             const std::function<std::size_t(int peer)>& read,
                             bool open) {
  const auto offset = direct_offset(vector, bytes);
  const std::uint64_t address = open && !offset ? reinterpret_cast<std::uintptr_t>(vector) : 0;
  pass_barrier(call, offset.value_or(PhaseBarrier::kNowhere),
               std::as_bytes(std::span(&address, 1)));
  for (int peer = 0; peer < size(); ++peer) note_place(call, peer, read(peer));
  const bool some_open = std::ranges::count(addresses_, 0U) < size();
  call.use(some_open ? "single-copy" : are_none_staged() ? "direct" : "staged");
}

void SharedVectors::announce_root(
    CollectiveCall& call, int root, const std::byte* vector, std::size_t bytes, std::size_t read) {
  const auto offset = root == rank_ ? direct_offset(vector, bytes) : std::nullopt;
  pass_barrier(call, offset.value_or(PhaseBarrier::kNowhere), {}, from(root));
  std::ranges::fill(offsets_, PhaseBarrier::kNowhere);
  std::ranges::fill(addresses_, 0U);
  note_place(call, root, read);
  call.use(is_direct(root) ? "direct" : "staged");
}

void SharedVectors::note_place(CollectiveCall& call, int peer, std::size_t read) {
  const auto index = static_cast<std::size_t>(peer);
  offsets_[index] = barrier_.announcement_of(peer).offset;
  std::memcpy(&addresses_[index], inline_bytes(peer), sizeof addresses_[index]);
  if (!is_direct(peer) || host_->has(offsets_[index], read)) return;
  call.refuse(peer, concat("it announced a vector at byte ", offsets_[index],
                           " of its shared memory, which does not have ", read, " bytes there"));
}

bool SharedVectors::are_none_staged() const {
  for (int peer = 0; peer < size(); ++peer) {
    if (is_staged(peer)) return false;
  }
  return true;
}

bool SharedVectors::are_all_staged() const {
  for (int peer = 0; peer < size(); ++peer) {
    if (!is_staged(peer)) return false;
  }
  return true;
}

std::byte* SharedVectors::direct(int peer, std::size_t offset) const {
  const auto index = static_cast<std::size_t>(peer);
  return host_->at(channels_[index].rank, offsets_[index] + offset);
}

void SharedVectors::read(
    CollectiveCall& call, int peer, std::size_t offset, std::byte* to, std::size_t bytes) const {
  const auto index = static_cast<std::size_t>(peer);
  call.guard([&] { host_->read(channels_[index].rank, to, addresses_[index] + offset, bytes); },
             peer);
}

void SharedVectors::write(CollectiveCall& call,
                          int peer,
                          std::size_t offset,
                          const std::byte* from,
                          std::size_t bytes) const {
  const auto index = static_cast<std::size_t>(peer);
  call.guard([&] { host_->write(channels_[index].rank, addresses_[index] + offset, from, bytes); },
             peer);
}

// Without it, the first access to each page is a fault in each process.
void SharedVectors::map_stages() const {
  for (const PhaseBarrier::Location& channel : channels_) {
    host_->map(channel.rank, channel.offset + SharedChannel::kStage, StageRing::kChunks * chunk_);
  }
}

std::size_t SharedVectors::enter_stage(CollectiveCall& call,
                                       std::size_t bytes,
                                       std::size_t pieces) {
  settle(call);  // for is_far() and is_crowded()
  const std::size_t most = chunk_ / pieces / kCacheLine * kCacheLine;
  const std::size_t room = std::clamp(whole_lines(bytes), kCacheLine, most);
  far_ = barrier_.is_far();
  // Ranks that alternate on a core find in its caches what they hand to each other.
  const bool round = !far_ && !barrier_.is_crowded() && room * pieces > kInFirstCaches;
  if (!round) {
    ring_.begin(room * pieces);
    return room;
  }
  if (!std::exchange(stages_are_mapped_, true)) map_stages();
  ring_.begin_round(room * pieces);
  return room;
}

std::byte* SharedVectors::stage(int peer, std::size_t step) const {
  const PhaseBarrier::Location& channel = channels_[static_cast<std::size_t>(peer)];
  return host_->at(channel.rank, channel.offset + SharedChannel::kStage + ring_.offset(step));
}

void SharedVectors::copy_to_stage(std::byte* to, const std::byte* from, std::size_t bytes) const {
  constexpr std::size_t kFew = 256;  // any copy of these is quicker than a fence
  if (bytes <= kFew || !far_) return copy_bytes(to, from, bytes);
  stream(to, from, bytes);
  finish_streams();
}

}  // namespace bp
