// How many rows of a step each rank takes, so that no rank waits for a slower one.
//
//   bp::WorkShares shares(world.size(), {.rows = 64});
//   for (...) {
//     std::int64_t mine = shares.rows()[world.rank()];  // of the 64 rows that all ranks take next
//     ...
//     shares.add(seconds);  // of each rank, the same numbers on all ranks
//   }
//
// The shares follow the median of each rank's time for a row. They move only if the shares by each
// of the last two windows would have made the other window's median step a twentieth shorter, and
// all but one of its steps shorter at all. So noise does not move them, even if it lasts for some
// steps. This is pure arithmetic: ranks that add the same times have the same shares.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bp/export.h"

namespace BP_API bp {

struct WorkSharesOptions {
  std::int64_t rows = 0;  // of a step, on all ranks
  // How many rows a rank can take, by rank, such as what its memory holds. Empty: any number.
  std::vector<std::int64_t> most = {};
  int window = 8;      // steps of which the median counts; two windows are compared
  int every = 4;       // steps between two looks
  double gain = 0.05;  // of the time of a step
};

class WorkShares {
 public:
  // Begins with equal shares. Throws invalid_argument if `most` leaves rows over.
  WorkShares(int ranks, const WorkSharesOptions& options);

  // Returns the rows of each rank in the next step.
  [[nodiscard]] const std::vector<std::int64_t>& rows() const { return rows_; }
  // Continues with the shares of an earlier run.
  void resume(const std::vector<std::int64_t>& rows);
  // A step with these shares took each rank so many seconds, without what it waited for others.
  // Returns whether the shares have changed.
  bool add(std::span<const double> seconds);

 private:
  using Steps = std::span<const std::vector<double>>;
  [[nodiscard]] std::vector<std::int64_t> proposed_by(Steps steps) const;
  [[nodiscard]] bool would_be_faster(const std::vector<std::int64_t>& next, Steps steps) const;

  WorkSharesOptions options_;
  std::vector<std::int64_t> rows_;
  std::vector<std::vector<double>> seconds_;  // of the last steps with these shares
  int steps_ = 0;                             // with these shares
};

}  // namespace bp
