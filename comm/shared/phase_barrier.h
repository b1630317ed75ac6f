// Where the ranks of one communicator on one host meet: phase after phase, each rank says that it
// has come and where its data lie, and waits until all the others have. What a rank says lies in
// its own arena, in one cache line, which it alone writes:
//
//   | phase | core, flags | header | offset | 40 bytes of data, for what needs no more |
//
// There are two lines a rank, for even and odd phases: who has passed phase n may write phase n + 1
// while others still read n, and nobody reaches n + 2 before all have read n.
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
#include <span>
#include <vector>

#include "base/deadline.h"
#include "comm/shared/host.h"

namespace bp {

class PhaseBarrier {
 public:
  static constexpr std::size_t kInlineBytes = 40;
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

  struct Announcement {
    std::uint64_t header = 0;         // of the operation: comm/engine/header.h
    std::uint64_t offset = kNowhere;  // of the data in the rank's arena
    std::array<std::byte, kInlineBytes> bytes = {};
  };
  // A rank of the communicator: which of the host's it is, and where in its arena its lines are.
  struct Place {
    int rank = 0;
    std::size_t offset = 0;
  };
  static constexpr std::size_t kBytes = 3 * 64;  // of memory that was zeros, for one rank

  // `places` by rank in the communicator; `rank` is ours.
  PhaseBarrier(std::shared_ptr<SharedHost> host, std::vector<Place> places, int rank);

  // Begins the next phase.
  void arrive(const Announcement& announcement);
  // Whether the ranks' cores are known to share no cache, or not yet known to. Threads wander
  // between cores, and virtual cores between real ones, so it is measured again and again while
  // ranks meet. The same on all ranks between two phases.
  [[nodiscard]] bool is_far() const;
  // Whether there are more ranks than cores. The same on all ranks between two phases.
  [[nodiscard]] bool is_crowded() const;
  // What another has said in this phase, once it has arrived.
  [[nodiscard]] const Announcement& announcement_of(int peer) const;
  // A rank that does not arrive within some tens of microseconds, or none. A core on which one was
  // last seen that is still missing is left to him; else it spins, and yields after that.
  [[nodiscard]] std::optional<int> late();
  // For one of them, longer: asleep. False at the deadline and when `stop` is set. Throws
  // TransportFailure when its process is gone.
  [[nodiscard]] bool wait(int peer, const Deadline& deadline, const std::atomic<bool>& stop) const;

 private:
  struct Lines;
  [[nodiscard]] Lines& lines_of(int peer) const { return *lines_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] bool has_arrived(int peer) const;
  [[nodiscard]] bool is_due_here(int first) const;
  void vote(std::chrono::nanoseconds taken);
  void give_way();
  [[nodiscard]] bool is_one_too_many() const;

  std::shared_ptr<SharedHost> host_;
  std::vector<Place> places_;
  std::vector<Lines*> lines_;
  int rank_;
  std::uint32_t phase_ = 0;
  static constexpr int kVotes = 8;
  int votes_for_far_ = kVotes;
  bool crowded_;
  int fair_share_;  // of a core that we may use: so many ranks
  std::chrono::steady_clock::time_point next_move_;
  std::chrono::milliseconds until_next_move_{1};
};

}  // namespace bp
