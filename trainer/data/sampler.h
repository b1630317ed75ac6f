// Decides which rows each rank trains on at each step. It is pure arithmetic in (seed, epoch,
// position), so a resumed run can seek instead of replaying, on any number of ranks.
//
// An epoch is one permutation of the rows. A step takes its next `step_rows()` positions and
// divides them into ranks x micro_batches micro-batches, as evenly as possible, rank by rank. So
// each row is used exactly once per epoch, each rank makes the same number of steps, and the rows
// of a step do not depend on the number of ranks that share them. At the end of an epoch a
// micro-batch may be smaller or empty (weight 0).
//
// The position of a run counts rows, not steps. A run with another number of ranks or another batch
// size continues at the same row, although its steps have another length.
#pragma once

#include <cstdint>
#include <vector>

namespace bp::trainer {

struct SamplerOptions {
  std::int64_t rows = 0;
  std::uint64_t seed = 0;
  int ranks = 1;
  int batch = 1;          // rows in one micro-batch of one rank
  int micro_batches = 1;  // micro-batches of each rank in one step
};

// The position at which a step begins: the number of complete epochs, and the number of rows used
// of the next one, which is less than the epoch has.
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

  // Returns the end of the step that begins at `position`. No step crosses the end of an epoch.
  [[nodiscard]] EpochPosition after(const EpochPosition& position) const;
  // Returns the number of steps from `position` to the end of the last of `epochs` epochs, which
  // may be a fraction: 2.5 epochs end with the step that uses the middle row of the third one. At
  // most 0 if `position` is there or beyond.
  [[nodiscard]] std::int64_t steps_until(double epochs, const EpochPosition& position) const;

  // Returns the indices (0 .. rows-1) of one micro-batch of the step that begins at `position`.
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
