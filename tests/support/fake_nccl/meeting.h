// Memory in which the ranks of a communicator meet, be they threads or processes.
//
// Threads: one at a time, except arrived().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace fake_nccl {

inline constexpr int kMostRanks = 8;
inline constexpr std::size_t kChunk = std::size_t{16} << 10;

class Meeting {
 public:
  // Makes the memory and returns its name, which the other ranks need.
  static std::string create();

  Meeting(const std::string& name, int ranks, int rank);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // A rank arrives at the start, on the device with this number on its machine, and leaves at the
  // end.
  void arrive(int device);
  [[nodiscard]] bool all_arrived() const;
  [[nodiscard]] int device_of(int rank) const;
  void leave();
  [[nodiscard]] bool all_left() const;

  // Each rank writes `mine` to its chunk; when all have, each reads the chunks of all. Returns
  // false if `aborted` is set meanwhile.
  [[nodiscard]] bool exchange(const std::function<void(std::byte* mine)>& write,
                              const std::function<void()>& read,
                              const std::atomic<bool>& aborted);
  [[nodiscard]] const std::byte* chunk(int rank) const { return area_->chunks[rank]; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int rank() const { return rank_; }

 private:
  struct Area {
    std::atomic<int> arrived;
    std::atomic<int> left;
    std::atomic<std::uint64_t> met;
    std::atomic<int> devices[kMostRanks];
    std::byte chunks[kMostRanks][kChunk];
  };
  [[nodiscard]] bool meet(const std::atomic<bool>& aborted);

  const std::string name_;
  const int ranks_;
  const int rank_;
  Area* area_;
  std::uint64_t meetings_ = 0;
};

}  // namespace fake_nccl
