// The order of the rows in each epoch: a permutation of its own for each, at first perhaps the
// short rows before the long ones (curriculum learning, Bengio et al. 2009), and perhaps rows of
// similar length one after another.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bp::trainer {

using Lengths = std::shared_ptr<const std::vector<std::int32_t>>;  // tokens of each row

inline constexpr std::int64_t kGroupsOfWindow = 50;

struct EpochOrderOptions {
  std::int64_t rows = 0;
  std::uint64_t seed = 0;
  double curriculum = 0;   // epochs from the first on that begin with short rows
  std::int64_t group = 0;  // rows of similar length one after another; 0: none are
  Lengths lengths = {};    // needed with a curriculum and with groups
};

// Of an epoch that lies in the curriculum with its share s (1, or less for the last one), the
// shortest rows, s of all, come first and in ascending length. Rows of one length, and the rows
// behind these, are in the order that the permutation of the epoch gives them.
//
// With groups, the rows behind the curriculum are drawn as without, in windows of kGroupsOfWindow
// groups. The rows of a window are sorted by length and become groups, and all groups of the epoch
// follow each other in random order. What is left over comes last.
//
// Threads: only one thread may use an object, which remembers the order of one epoch.
class EpochOrder {
 public:
  explicit EpochOrder(EpochOrderOptions options) : options_(std::move(options)) {}

  // Returns the row at `position`, a bijection of 0 .. rows-1 for each epoch.
  [[nodiscard]] std::int64_t row(std::int64_t epoch, std::int64_t position) const;

 private:
  void sort(std::int64_t epoch) const;
  void append_groups(std::int64_t epoch, std::vector<std::int64_t> rows) const;
  [[nodiscard]] std::int32_t length(std::int64_t row) const;

  EpochOrderOptions options_;
  mutable std::int64_t sorted_ = -1;  // the epoch of order_
  mutable std::vector<std::int64_t> order_;
};

}  // namespace bp::trainer
