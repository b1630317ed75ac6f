// The ranks tell each other the totals of a window beside its gradients: f32 elements that travel
// at the end of the last bucket and are summed with it. Needs no LibTorch.
//
// Sums of f32 are exact only for integers below 2^24. So each rank writes its numbers into elements
// of its own, 16 bits into each, and zeros into the elements of the other ranks. Every rank then
// reads the numbers of all ranks bit for bit. One element for each parameter counts the ranks
// without a gradient of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bp {

// The numbers of one rank.
struct RankTotals {
  double weight = 0;
  double weighted_loss = 0;
  double seconds = 0;             // of this window's passes
  std::uint64_t fingerprint = 0;  // of what must be the same on all ranks
  bool stops = false;
  bool has_late_gradients = false;
  bool is_from_backward = false;  // written at the end of the window's last backward()
  int split = 0;                  // micro-batches that were computed in pieces; 2^19 at most
};

class WindowTotals {
 public:
  static constexpr std::size_t kPartsOfANumber = 4;

  WindowTotals(int ranks, std::size_t parameters);

  [[nodiscard]] std::size_t elements() const { return parameters_ + ranks_ * kPartsOfARank; }
  // The first of the elements that rank `rank` writes its weighted loss into, as signed 16-bit
  // parts of its bits. The lowest part comes first.
  [[nodiscard]] std::size_t loss_of(int rank) const { return begin_of(rank) + kPartsOfANumber; }

  // Returns the elements that rank `rank` adds. `lacks[i]`: it has no gradient of parameter i.
  [[nodiscard]] std::vector<float> written(int rank,
                                           const RankTotals& totals,
                                           const std::vector<bool>& lacks) const;
  // What the sums of all ranks' elements say: the numbers of each rank, and whether all ranks lack
  // the gradient of parameter i. Ranks that have written nothing, since they have joined (join() of
  // bp/collective.h), are left out.
  [[nodiscard]] std::vector<RankTotals> of_ranks(std::span<const double> sums) const;
  [[nodiscard]] std::vector<bool> lacking_everywhere(std::span<const double> sums) const;

 private:
  static constexpr std::size_t kPartsOfARank = 4 * kPartsOfANumber + 1;
  [[nodiscard]] std::size_t begin_of(int rank) const {
    return parameters_ + static_cast<std::size_t>(rank) * kPartsOfARank;
  }

  std::size_t ranks_;
  std::size_t parameters_;
};

}  // namespace bp
