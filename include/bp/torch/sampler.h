// A sampler for torch::data with which several ranks read one dataset. Each epoch uses each row
// exactly once, every rank gets the same number of batches, and the batches do not depend on the
// number of ranks.
//
//   bp::DistributedSampler sampler(world, dataset.size().value(), {.seed = 1});
//   auto loader = torch::data::make_data_loader(std::move(dataset), sampler, /*batch_size=*/64);
//   for (int epoch = 0; epoch < 10; ++epoch) {
//     std::size_t batch = 0;
//     for (auto& rows : *loader) {
//       optimizer.backward(loss(rows), sampler.weight(batch++));
//       optimizer.step();
//     }
//   }
//
// An epoch is one permutation of the rows, which depends on seed and epoch alone, or the rows in
// their own order. The loader's batch_size counts the rows of *all* ranks: a batch is the next
// batch_size rows of the epoch, and each rank gets an even part of it. So a plain program keeps its
// batch_size, and 1, 3 and 4 ranks make the same steps. At the end of an epoch a batch may have
// fewer rows than there are ranks. A rank without a row then gets a *filler*: one row of the batch
// that counts for another rank, with weight 0, because loaders refuse an empty batch.
//
// Keep the defaults of the loader's drop_last and enforce_ordering.
#pragma once

#include <torch/data/samplers/base.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bp/communicator.h"
#include "bp/export.h"

namespace BP_API bp {

struct DistributedSamplerOptions {
  std::uint64_t seed = 0;
  bool shuffle = true;  // false: the rows in their own order, as of a SequentialSampler
};

// Copies share one state, so the loader's copy and the caller's are the same sampler. Threads: only
// the thread that uses the loader's iterator may use it.
class DistributedSampler : public torch::data::samplers::Sampler<> {
 public:
  // For a dataset of `rows` rows. Collective: all ranks must give the same rows and options;
  // otherwise all throw `mismatch`. `comm` must outlive the sampler.
  DistributedSampler(Communicator& comm,
                     std::size_t rows,
                     const DistributedSamplerOptions& options = {});

  // Begins the next epoch; the first call begins the first one. A loader's begin() calls it.
  // new_size changes the number of rows, and must be the same on all ranks.
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  // Returns this rank's part of the next batch_size rows, or nothing at the end of the epoch.
  // Throws invalid_argument for a batch_size of 0.
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;

  // Returns the number of this rank's rows in batch number `batch`, 0 for a filler. Batches count
  // from 0 since the last reset(). Throws invalid_argument for a batch that next() has not
  // returned.
  [[nodiscard]] double weight(std::size_t batch) const;

  // How far training has come, in rows that all ranks together have used. A resumed run may have
  // another number of ranks and another batch_size.
  struct Position {
    std::int64_t epoch = 0;  // complete epochs
    std::int64_t rows = 0;   // of the next epoch
    bool operator==(const Position&) const = default;
  };
  // Returns the position after the first `batches` batches since the last reset(). (The program
  // counts its batches, because a loader with workers asks for batches before the program trains on
  // them.) Throws invalid_argument for more batches than next() has returned.
  [[nodiscard]] Position position(std::size_t batches) const;
  // Makes the next reset() begin at `position` instead of at the start of an epoch. Collective: all
  // ranks must give the same position; otherwise all throw `mismatch`. Throws invalid_argument for
  // a position outside the dataset.
  void resume(const Position& position);

  // Save the position of next(), and resume() from a saved one.
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 private:
  class BP_HIDDEN State;
  std::shared_ptr<State> state_;
};

}  // namespace bp
