// A sampler for torch::data with which several ranks read one dataset: each row exactly once an
// epoch, as many batches on every rank, and the same batches whatever the number of ranks.
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
// An epoch is one permutation of the rows, which depends on seed and epoch alone, or the rows as
// they come. The loader's batch_size counts the rows of *all* ranks: a batch is the next batch_size
// rows of the epoch, and each rank gets its part of them, as evenly as they go. So a plain program
// keeps its batch_size, and 1 rank, 3 ranks and 4 make the same steps. At the end of an epoch a
// batch may have fewer rows than there are ranks. A rank that gets none then gets a *filler*, one
// row of the batch that counts for another rank, because loaders refuse an empty batch: its weight
// is 0.
//
// Leave the loader's drop_last and enforce_ordering as they are by default.
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
  bool shuffle = true;  // false: the rows as they come, as of a SequentialSampler
};

// A handle: copies share one state, so the loader's copy and the caller's are the same sampler.
// Threads: used by one thread, that of the loader's begin() and next.
class DistributedSampler : public torch::data::samplers::Sampler<> {
 public:
  // For a dataset of `rows` rows. Collective: all ranks of `comm` give the same rows and options,
  // and all throw `mismatch` otherwise. `comm` must outlive the sampler.
  DistributedSampler(Communicator& comm,
                     std::size_t rows,
                     const DistributedSamplerOptions& options = {});

  // Begins the next epoch, the first one at first; a loader's begin() calls it. With new_size, of a
  // dataset of that many rows, the same on all ranks.
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  // Returns this rank's part of the next batch_size rows, or nothing at the end of the epoch.
  // Throws invalid_argument for a batch_size of 0.
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;

  // Returns how many rows of batch number `batch` are this rank's, 0 for a filler. Batches count
  // from 0 since the last reset(). Throws invalid_argument for one that next() has not given.
  [[nodiscard]] double weight(std::size_t batch) const;

  // Where training is, in rows that all ranks together have used: a resumed run may have another
  // number of ranks and another batch_size.
  struct Position {
    std::int64_t epoch = 0;  // whole epochs done
    std::int64_t rows = 0;   // of the next one
    bool operator==(const Position&) const = default;
  };
  // Returns where training is after the first `batches` batches since the last reset(). (A loader
  // with workers asks for batches before the program trains on them, so the program counts.) Throws
  // invalid_argument for more than next() has given.
  [[nodiscard]] Position position(std::size_t batches) const;
  // The next reset() begins at `position` instead of at an epoch's start. Collective: all ranks
  // give the same position, and all throw `mismatch` otherwise. Throws invalid_argument for a
  // position outside the dataset.
  void resume(const Position& position);

  // For a loader's state: where next() is, and resume() with what was saved.
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 private:
  class BP_HIDDEN State;
  std::shared_ptr<State> state_;
};

}  // namespace bp
