// Decides which rows each rank trains on at each step. It is pure arithmetic in (seed, epoch,
// position), so a resumed run can seek instead of replaying, on any number of ranks.
//
// An epoch is one order of the rows (epoch_order.h). A step takes the next rows and divides them
// into ranks x micro_batches micro-batches, rank by rank: `batch` rows for each, as evenly as
// possible, or with max_tokens as many rows as fit (token_batches.h). With `balanced`, all of them
// have about the same number of tokens, so that ranks do not wait for the one with the longest
// texts. So each row is used exactly
// once per epoch, each rank makes the same number of steps, and the rows of a step do not depend on
// how ranks and micro-batches share the product of their numbers. At the end of an epoch a
// micro-batch may be smaller or empty (weight 0).
//
// The position of a run counts rows, not steps. A run with another number of ranks or another batch
// size continues at the same row, although its steps have another length.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/permutation.h"
#include "trainer/batches/epoch_order.h"
#include "trainer/batches/per_epoch.h"

namespace bp::trainer {

struct RowSamplerOptions {
  std::int64_t rows = 0;
  std::uint64_t seed = 0;
  int ranks = 1;
  int batch = 1;                    // rows in one micro-batch of one rank
  PerEpoch<int> micro_batches = 1;  // micro-batches of each rank in one step
  int max_tokens = 0;               // of a micro-batch, instead of `batch` rows; 0: not chosen
  double curriculum = 0;            // this and the next one: see EpochOrderOptions
  std::int64_t group = 0;
  bool balanced = false;
  Lengths lengths = {};  // of all rows; needed with max_tokens, a curriculum, groups and balanced
  // Rows of a step, at most as many as its micro-batches can have; 0: that number.
  std::int64_t total = 0;
};

// The position at which a step begins: the number of complete epochs, and the number of rows used
// of the next one, which is less than the epoch has.
struct EpochPosition {
  std::int64_t epoch = 0;
  std::int64_t used = 0;
  bool operator==(const EpochPosition&) const = default;
  auto operator<=>(const EpochPosition&) const = default;  // NOLINT(modernize-use-nullptr)
};

// The shares of the ranks in the rows of a step, from a step of the run on.
struct RowShares {
  std::int64_t from_step = 0;
  std::vector<std::int64_t> rows = {};  // by rank; empty: equal ones
};

// Threads: only one thread may use an object, which remembers what it has counted.
class RowSampler {
 public:
  // Throws invalid_argument, also for a row that is longer than max_tokens.
  explicit RowSampler(const RowSamplerOptions& options);

  [[nodiscard]] std::int64_t rows() const { return options_.rows; }  // of an epoch
  // Micro-batches of each rank in a step.
  [[nodiscard]] int micro_batches(std::int64_t epoch) const {
    return options_.micro_batches.at(epoch);
  }
  // `total`, or ranks * batch * micro_batches, which max_tokens must not replace.
  [[nodiscard]] std::int64_t step_rows(std::int64_t epoch = 0) const;
  [[nodiscard]] std::int64_t steps_per_epoch(std::int64_t epoch = 0) const;

  // Returns the end of the step that begins at `position`. No step crosses the end of an epoch.
  [[nodiscard]] EpochPosition after(const EpochPosition& position) const;
  // Returns the number of steps from `position` to the end of the last of `epochs` epochs, which
  // may be a fraction: 2.5 epochs end with the step that uses the middle row of the third one. At
  // most 0 if `position` is there or beyond.
  [[nodiscard]] std::int64_t steps_until(double epochs, const EpochPosition& position) const;
  // Returns the number of steps that lead from the beginning of a run to `position`, as this
  // sampler cuts the epochs. It is a fraction if the position lies between two steps, and with
  // max_tokens it counts the rows of the epoch: half of them are half of its steps.
  [[nodiscard]] double steps_before(const EpochPosition& position) const;

  // Returns the rows (0 .. rows-1) of the step that begins at `position`: of each micro-batch of
  // rank 0, then of rank 1, ...
  [[nodiscard]] std::vector<std::vector<std::int64_t>> step(const EpochPosition& position) const;
  // Returns them by rank. `shares`, unless empty: the ranks' shares of the step's rows, or with
  // max_tokens of its tokens. A rank then has as many micro-batches of at most `batch` rows, or
  // max_tokens, as it needs, and at least one, which may be empty.
  using MicroBatches = std::vector<std::vector<std::int64_t>>;
  [[nodiscard]] std::vector<MicroBatches> step_by_rank(const EpochPosition& position,
                                                       std::span<const std::int64_t> shares) const;
  // Returns those of one micro-batch.
  struct Place {
    EpochPosition position = {};
    int rank = 0;
    int micro_batch = 0;
  };
  [[nodiscard]] std::vector<std::int64_t> rows(const Place& place) const;

 private:
  [[nodiscard]] std::int64_t parts(std::int64_t epoch) const;
  [[nodiscard]] std::int64_t length(std::int64_t epoch, std::int64_t position) const;
  [[nodiscard]] std::int64_t rows_of_step(const EpochPosition& position) const;
  [[nodiscard]] std::vector<std::int64_t> lengths_of(std::int64_t epoch,
                                                     const Positions& positions) const;
  [[nodiscard]] std::vector<Positions> divided(const EpochPosition& position) const;
  [[nodiscard]] std::vector<Positions> divided_by(std::span<const std::int64_t> shares,
                                                  const EpochPosition& position) const;
  [[nodiscard]] std::vector<Positions> micro_batches_of(std::int64_t epoch,
                                                        const Positions& own) const;
  [[nodiscard]] std::vector<std::vector<std::int64_t>> rows_of(const EpochPosition& position,
                                                               const std::vector<Positions>& parts,
                                                               bool by_share) const;
  [[nodiscard]] std::vector<std::vector<std::int64_t>> balanced(
      const std::vector<std::vector<std::int64_t>>& parts, bool by_share) const;
  [[nodiscard]] std::int64_t steps_in(const EpochPosition& from, std::int64_t to) const;
  [[nodiscard]] std::int64_t whole_steps_in(const EpochPosition& from, std::int64_t to) const;

  RowSamplerOptions options_;
  EpochOrder order_;
  mutable std::map<std::int64_t, std::int64_t> counted_;  // steps of whole epochs, by max_tokens
};

}  // namespace bp::trainer
