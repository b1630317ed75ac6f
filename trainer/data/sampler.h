// Which rows each rank trains on at each step: pure arithmetic in (seed, epoch, position), so a
// resumed run seeks instead of replaying, on any number of ranks.
//
// An epoch is one permutation of the rows. A step takes the next `step_rows()` positions of it and
// cuts them into ranks x micro_batches micro-batches, as evenly as they go, rank by rank. So every
// row is used exactly once an epoch, every rank makes the same number of steps, and the rows of a
// step do not depend on how many ranks share them. At the end of an epoch a micro-batch may be
// smaller or empty (weight 0).
//
// Where a run is, is counted in rows, not in steps: another number of ranks, or another batch, goes
// on at the very row, though its steps have another length.
#pragma once

#include <cstdint>
#include <vector>

namespace bp::trainer {

struct SamplerOptions {
  std::int64_t rows = 0;
  std::uint64_t seed = 0;
  int ranks = 1;
  int batch = 1;          // rows in one micro-batch of one rank
  int micro_batches = 1;  // of each rank in one step
};

// Where a step begins: whole epochs done, and rows of the next one that are used already, fewer
// than the epoch has.
struct EpochPosition {
  std::int64_t epoch = 0;
  std::int64_t used = 0;
  bool operator==(const EpochPosition&) const = default;
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);  // throws invalid_argument

  [[nodiscard]] std::int64_t step_rows() const;        // ranks * batch * micro_batches
  [[nodiscard]] std::int64_t steps_per_epoch() const;  // the last one may be short

  // Where the step ends that begins at `position`; no step goes beyond an epoch's end.
  [[nodiscard]] EpochPosition after(const EpochPosition& position) const;
  // Steps from `position` to the end of the last of `epochs` epochs; below 0 when it is beyond.
  [[nodiscard]] std::int64_t steps_until(std::int64_t epochs, const EpochPosition& position) const;

  // Indices (0 .. rows-1) of one micro-batch of the step that begins at `position`.
  struct Place {
    EpochPosition position = {};
    int rank = 0;
    int micro_batch = 0;
  };
  [[nodiscard]] std::vector<std::int64_t> rows(const Place& place) const;

 private:
  SamplerOptions options_;
};

}  // namespace bp::trainer
