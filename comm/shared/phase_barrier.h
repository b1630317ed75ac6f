// The barrier of the ranks of one communicator on one host. In each phase, a rank announces that it
// has arrived and where its data are, and waits until all other ranks have arrived, or those that
// have data for it. It writes its announcement into one cache line of its own arena, which no other
// rank writes:
//
//   | phase | core, flags | header | offset | 40 bytes of data, if the operation has no more |
//
// Each rank has two lines, for even and odd phases. A rank arrives in phase n + 1 after all have
// arrived in phase n, while others may still read phase n. So no rank arrives in phase n + 2 before
// all have read phase n.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "comm/shared/shared_host.h"

namespace bp {

class PhaseBarrier {
 public:
  static constexpr std::size_t kInlineBytes = 40;
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

  struct Announcement {
    std::uint64_t header = 0;         // of the operation: comm/engine/observe/header.h
    std::uint64_t offset = kNowhere;  // of the data in the rank's arena
    std::array<std::byte, kInlineBytes> bytes = {};
  };
  // Where the lines of a rank of the communicator are: in the arena of which of the host's ranks,
  // and at which offset.
  struct Location {
    int rank = 0;
    std::size_t offset = 0;
  };
  static constexpr std::size_t kBytes = std::size_t{3} * 64;  // of zeros, for one rank

  // `locations` by rank in the communicator. `rank` is this rank.
  PhaseBarrier(std::shared_ptr<SharedHost> host, std::vector<Location> locations, int rank);

  // The ranks from `first` to before `end`: all ranks, or another one, or none.
  struct Peers {
    int first = 0;
    int end = 0;
  };
  [[nodiscard]] Peers all() const { return {.end = static_cast<int>(lines_.size())}; }

  // Begins the next phase. The one before must be complete.
  void arrive(const Announcement& announcement);
  // The next two are the same on all ranks while the phase is complete.
  //
  // True unless measurements show that the ranks' cores share a cache. Threads move between cores,
  // and virtual cores between real ones, so the barrier repeats the measurement.
  [[nodiscard]] bool is_far() const;
  // True if there are more ranks than cores.
  [[nodiscard]] bool is_crowded() const;
  [[nodiscard]] bool has_arrived(int peer) const;
  // Returns what `peer` has announced in this phase. It must have arrived.
  [[nodiscard]] const Announcement& announcement_of(int peer) const;
  // Returns one of `peers` that does not arrive within some tens of microseconds, or none once all
  // of them have arrived. It spins, and then yields. It does not spin on a core on which a missing
  // rank was last seen.
  [[nodiscard]] std::optional<int> late(Peers peers);
  // Whether late() has seen all ranks arrive in the phase that this rank began last.
  [[nodiscard]] bool is_complete() const { return complete_; }
  // Sleeps until `peer` arrives. Returns false at the deadline and if `stop` is set. Throws
  // TransportFailure if the peer's process has ended.
  [[nodiscard]] bool wait(int peer, const Deadline& deadline, const std::atomic<bool>& stop) const;

 private:
  struct Lines;
  [[nodiscard]] Lines& lines_of(int peer) const { return *lines_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] bool is_due_here(Peers peers) const;
  void vote(std::chrono::nanoseconds taken);
  void wake_sleepers();
  void give_way();
  [[nodiscard]] bool is_one_too_many() const;

  std::shared_ptr<SharedHost> host_;
  std::vector<Location> locations_;
  std::vector<Lines*> lines_;
  int rank_;
  std::uint32_t phase_ = 0;
  bool complete_ = true;  // no rank is still to arrive in this phase
  static constexpr int kVotes = 8;
  int votes_for_far_ = kVotes;
  bool crowded_;
  int fair_share_;  // the ranks per core, if they divide the usable cores evenly
  std::chrono::steady_clock::time_point next_move_;
  static constexpr std::chrono::microseconds kSoonestMoves{100};
  std::chrono::microseconds until_next_move_{kSoonestMoves};
};

}  // namespace bp
