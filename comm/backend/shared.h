// Collectives between ranks of one host, through memory that they share. Nothing is sent: each rank
// says where its vector lies (comm/shared/phase_barrier.h), reads the others' there, and writes the
// result where it is wanted.
//
// A vector in memory of Communicator::allocate() is worked on where it is. Any other is shown in
// steps on the rank's stage: one chunk is worked on while the next is copied to another place there
// (stage_ring.h). Who writes a chunk has passed a meeting to which everybody came after reading
// what was there before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bp/collective.h"
#include "comm/backend/backend.h"
#include "comm/backend/stage_ring.h"
#include "comm/shared/host.h"
#include "comm/shared/phase_barrier.h"

namespace bp {

struct Exchange;

// What a communicator takes in the arena of each of its ranks: the board's lines and the stage.
struct SharedChannel {
  static constexpr std::size_t kStage = 4096;                    // where the stage begins
  static constexpr std::size_t kChunk = std::size_t{256} << 10;  // in whole cache lines

  [[nodiscard]] static constexpr std::size_t bytes(std::size_t chunk) {
    return kStage + StageRing::kChunks * chunk;
  }
};

class SharedBackend : public Backend {
 public:
  // `channels` by rank in the communicator: SharedChannel::bytes(chunk) of zeros each. `rank` is
  // ours.
  SharedBackend(std::shared_ptr<SharedHost> host,
                std::vector<PhaseBarrier::Place> channels,
                int rank,
                std::size_t chunk = SharedChannel::kChunk);

  [[nodiscard]] std::string_view name() const override { return "shm"; }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind, std::size_t) const override {
    return kind == Operation::Kind::message ? "send_receive" : "direct";
  }
  void run(const Operation& operation, CollectiveCall& call) override;

  // counts[r] elements for, or of, rank r. In place: a rank's block of `input` may be its output,
  // and its block of `data` is its input.
  void reduce_scatter(CollectiveCall& call,
                      ConstView input,
                      View output,
                      std::span<const std::size_t> counts,
                      ReduceOp op);
  void all_gather(CollectiveCall& call, View data, std::span<const std::size_t> counts);

 private:
  void all_reduce(CollectiveCall& call, View data, ReduceOp op);
  // An all-reduce of vectors of which some may be shown and others staged, `chunk` bytes at a time.
  struct Staged {
    View data;
    std::size_t chunk = 0;
    bool shown = false;    // ours
    bool at_once = false;  // unless somebody's is shown
  };
  // The same on all ranks, between two meetings.
  [[nodiscard]] bool reduces_at_once(DataType type, std::size_t bytes) const;
  void all_reduce_at_once(CollectiveCall& call, const Staged& staged, ReduceOp op);
  void all_reduce_in_shares(CollectiveCall& call, Staged staged, ReduceOp op);
  [[nodiscard]] Block share(const Staged& staged, int peer, std::size_t step) const;
  void bring(const Staged& staged, std::size_t step);
  void fetch(const Staged& staged, std::size_t step) const;
  void broadcast(CollectiveCall& call, View data, int root);
  void reduce(CollectiveCall& call, View data, ReduceOp op, int root);
  // For root, or for every rank.
  void reduce_at_barrier(CollectiveCall& call,
                         View data,
                         ReduceOp op,
                         std::optional<int> root = {});
  void exchange(CollectiveCall& call, const Exchange& exchange, std::size_t input_bytes);

  // Returns when all ranks have come to this point of the same operation.
  void meet(CollectiveCall& call,
            std::uint64_t offset = PhaseBarrier::kNowhere,
            std::span<const std::byte> bytes = {});
  // The same, with where our vector is. Afterwards the others' places are known.
  void meet_with(CollectiveCall& call, const std::byte* vector, std::size_t bytes);
  [[nodiscard]] bool is_shown(int peer) const;  // its vector lies in its arena
  [[nodiscard]] bool are_all_shown() const;
  [[nodiscard]] bool is_nobody_shown() const;
  // The collective takes `bytes` over the stage, or less at a time, in each of `pieces` that lie
  // one after another: returns how many.
  [[nodiscard]] std::size_t enter_stage(std::size_t bytes, std::size_t pieces = 1);
  void map_stages() const;
  // The chunk of the collective's step `step`.
  [[nodiscard]] std::byte* stage(int peer, std::size_t step) const;
  // Copies onto our stage what others will read.
  void hand_over(std::byte* to, const std::byte* from, std::size_t bytes) const;
  // It used the stage for so many steps, on every rank.
  void leave_stage(std::size_t steps) { ring_.end(steps); }
  // In the arena of one who is shown.
  [[nodiscard]] std::byte* shown_at(int peer, std::size_t at) const;
  // Where the bytes of `peer`'s vector from `begin` on lie in this step.
  [[nodiscard]] std::byte* part(int peer, std::size_t begin, std::size_t step) const;
  [[nodiscard]] int size() const { return static_cast<int>(channels_.size()); }

  std::shared_ptr<SharedHost> host_;
  std::vector<PhaseBarrier::Place> channels_;
  int rank_;
  std::size_t chunk_;
  PhaseBarrier barrier_;
  std::vector<std::uint64_t> offsets_;  // of the ranks' vectors in their arenas
  StageRing ring_;
  bool far_ = true;  // whether the ranks' cores are, for this collective: the same on all
  bool stages_mapped_ = false;
  std::vector<const std::byte*> parts_;  // what is reduced, by rank
  std::vector<std::byte*> outs_;         // and where to
};

}  // namespace bp
