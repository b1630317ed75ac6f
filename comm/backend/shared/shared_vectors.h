// How the ranks of one host see each other's vectors in a collective. A vector in memory of
// Communicator::allocate() lies in its rank's arena, and the others read and write it there: it is
// direct. Any other is staged: its rank copies it in chunks to the rank's stage (stage_ring.h), one
// chunk while the others work on the one before. Or it is open: its rank announces its address, and
// the others access it by system calls, if the kernel lets all ranks do that.
//
// A rank that writes a chunk has passed a barrier that the others reach only after they have read
// what was there before. If all vectors are staged, a rank may leave the collective without a
// barrier after the last step, because the next collective uses another chunk of the stage.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/backend/common/collective_call.h"
#include "comm/backend/shared/stage_ring.h"
#include "comm/shared/phase_barrier.h"
#include "comm/shared/shared_host.h"

namespace bp {

// What a communicator takes in the arena of each of its ranks: the barrier's lines and the stage.
struct SharedChannel {
  static constexpr std::size_t kStage = ChannelPool::kHead;      // the offset of the stage
  static constexpr std::size_t kChunk = std::size_t{256} << 10;  // in whole cache lines

  [[nodiscard]] static constexpr std::size_t bytes(std::size_t chunk) {
    return kStage + StageRing::kChunks * chunk;
  }
};

class SharedVectors {
 public:
  // A vector of at most this size is staged although it could be direct: to copy it takes less time
  // than a barrier.
  static constexpr std::size_t kShort = 1024;

  // `channels` by rank in the communicator: SharedChannel::bytes(chunk) each, of
  // ChannelPool::take(). `rank` is this rank.
  SharedVectors(std::shared_ptr<SharedHost> host,
                std::vector<PhaseBarrier::Location> channels,
                int rank,
                std::size_t chunk);
  ~SharedVectors();  // gives this rank's channel back to its pool
  SharedVectors(const SharedVectors&) = delete;
  SharedVectors& operator=(const SharedVectors&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(channels_.size()); }
  // The most bytes of a chunk.
  [[nodiscard]] std::size_t chunk() const { return chunk_; }
  // Whether the ranks' cores share no cache. The same on all ranks while is_settled().
  [[nodiscard]] bool is_far() const { return barrier_.is_far(); }

  using Peers = PhaseBarrier::Peers;
  [[nodiscard]] Peers all() const { return barrier_.all(); }
  // Whom each rank awaits if only `root` has data for others, or if only `root` gets data.
  [[nodiscard]] Peers from(int root) const {
    return root == rank_ ? Peers{} : Peers{.first = root, .end = root + 1};
  }
  [[nodiscard]] Peers to(int root) const { return root == rank_ ? all() : Peers{}; }

  // Returns once all ranks have reached this point of the same operation. `bytes`, at most
  // PhaseBarrier::kInlineBytes, are then what inline_bytes() returns.
  void pass_barrier(CollectiveCall& call,
                    std::uint64_t offset = PhaseBarrier::kNowhere,
                    std::span<const std::byte> bytes = {}) {
    pass_barrier(call, offset, bytes, all());
  }
  // The same, but returns once the `awaited` ranks have reached it. The others may be elsewhere,
  // and in another operation, until settle().
  void pass_barrier(CollectiveCall& call,
                    std::uint64_t offset,
                    std::span<const std::byte> bytes,
                    Peers awaited);
  // Returns once all ranks have reached the last barrier.
  void settle(CollectiveCall& call) {
    if (!is_settled()) await(call, all());
  }
  [[nodiscard]] bool is_settled() const { return barrier_.is_complete(); }
  [[nodiscard]] const std::byte* inline_bytes(int peer) const {
    return barrier_.announcement_of(peer).bytes.data();
  }
  // A barrier that carries all of a collective's data: inline_bytes() then returns that of each
  // awaited rank.
  void pass_inline_barrier(CollectiveCall& call, std::span<const std::byte> bytes, Peers awaited) {
    call.use("inline");
    pass_barrier(call, PhaseBarrier::kNowhere, bytes, awaited);
  }
  // A barrier after which all ranks know which vectors are direct, and where. A vector is direct if
  // can_be_direct(). This rank will access the first read(peer) bytes of a peer's vector; without
  // `read`, the first `bytes`. A direct vector that does not have them in its arena fails the
  // communicator. `open`: the vector is open unless it is direct.
  void announce(CollectiveCall& call, const std::byte* vector, std::size_t bytes);
  void announce(CollectiveCall& call,
                const std::byte* vector,
                std::size_t bytes,
                const std::function<std::size_t(int peer)>& read,
                bool open = false);
  // The same where only the vector of `root` matters, of which this rank accesses the first `read`
  // bytes: ranks await only the root, and count all other vectors as staged.
  void announce_root(
      CollectiveCall& call, int root, const std::byte* vector, std::size_t bytes, std::size_t read);

  // Returns whether this rank's memory lies in its arena, and is not short.
  [[nodiscard]] bool can_be_direct(const std::byte* data, std::size_t bytes) const {
    return direct_offset(data, bytes).has_value();
  }
  // Returns whether vectors may be open. The same on all ranks.
  [[nodiscard]] bool can_be_open() const { return host_->is_open(); }
  [[nodiscard]] const std::shared_ptr<SharedHost>& host() const { return host_; }
  // As announced.
  [[nodiscard]] bool is_direct(int peer) const {
    return offsets_[static_cast<std::size_t>(peer)] != PhaseBarrier::kNowhere;
  }
  [[nodiscard]] bool is_open(int peer) const {
    return addresses_[static_cast<std::size_t>(peer)] != 0;
  }
  [[nodiscard]] bool is_staged(int peer) const { return !is_direct(peer) && !is_open(peer); }
  [[nodiscard]] bool are_none_staged() const;
  [[nodiscard]] bool are_all_staged() const;
  // The byte at `offset` of a direct vector.
  [[nodiscard]] std::byte* direct(int peer, std::size_t offset) const;
  // Copy from or to the bytes at `offset` of an open vector.
  void read(
      CollectiveCall& call, int peer, std::size_t offset, std::byte* to, std::size_t bytes) const;
  void write(CollectiveCall& call,
             int peer,
             std::size_t offset,
             const std::byte* from,
             std::size_t bytes) const;

  // A collective begins that has at most `bytes` on the stage at a time, in each of `pieces` which
  // lie one after another. Returns the bytes of a piece in each step.
  [[nodiscard]] std::size_t enter_stage(CollectiveCall& call,
                                        std::size_t bytes,
                                        std::size_t pieces = 1);
  // The chunk of the collective's step `step`.
  [[nodiscard]] std::byte* stage(int peer, std::size_t step) const;
  // The barrier between one step and the next, and after the last one if a rank may still read the
  // memory of another's caller.
  void pass_barrier_after(std::size_t step, std::size_t steps, CollectiveCall& call) {
    if (step + 1 < steps || !are_all_staged()) pass_barrier(call);
  }
  // Copies to this rank's stage, for the others to read.
  void copy_to_stage(std::byte* to, const std::byte* from, std::size_t bytes) const;
  // The collective has used the stage for `steps` steps on every rank.
  void leave_stage(std::size_t steps) { ring_.end(steps); }

  // The bytes of a vector from `offset` on: direct, or in the chunk of this step.
  [[nodiscard]] std::byte* part(int peer, std::size_t offset, std::size_t step) const {
    return is_direct(peer) ? direct(peer, offset) : stage(peer, step);
  }

  // Room for addresses by rank, which no collective needs to allocate.
  [[nodiscard]] std::vector<const std::byte*>& sources() { return sources_; }
  [[nodiscard]] std::vector<std::byte*>& targets() { return targets_; }

 private:
  [[nodiscard]] std::optional<std::size_t> direct_offset(const std::byte* data,
                                                         std::size_t bytes) const {
    return bytes > kShort ? host_->own().offset_of(data, bytes) : std::nullopt;
  }
  void await(CollectiveCall& call, Peers peers);
  // Notes where the vector of `peer` is, of which this rank will access the first `read` bytes.
  void note_place(CollectiveCall& call, int peer, std::size_t read);
  void map_stages() const;

  std::shared_ptr<SharedHost> host_;
  std::vector<PhaseBarrier::Location> channels_;
  int rank_;
  std::size_t chunk_;
  PhaseBarrier barrier_;
  std::vector<std::uint64_t> offsets_;    // of the ranks' vectors in their arenas
  std::vector<std::uint64_t> addresses_;  // of the open ones in their processes; 0: not open
  StageRing ring_;
  bool far_ = true;  // is_far() when the collective entered the stage
  bool stages_are_mapped_ = false;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> targets_;
};

}  // namespace bp
