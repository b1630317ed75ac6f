// The forward and backward passes of a step on this rank, in pieces where memory is short.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bp/communicator.h"
#include "bp/torch/distributed_optimizer.h"
#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/train/batches.h"
#include "trainer/train/watch/memory_room.h"

namespace bp::trainer {

struct TrainJob;

// The row of the timeline that the DistributedOptimizer uses for backward and step, too.
inline constexpr std::string_view kComputeRow = "compute";

// Threads: one at a time.
class StepPasses {
 public:
  // Collective. All must outlive this object.
  StepPasses(Communicator& world,
             const RunSettings& settings,
             const TrainJob& job,
             const Bert& model,
             DistributedOptimizer& optimizer);

  // With --batch auto: finds by passes over the longest samples how many of them this rank's memory
  // holds at once. compute() then has at most as many in a pass. Returns a line for people, or "".
  // Collective, before the first step.
  [[nodiscard]] std::string find_batch(const TrainingStep& step);
  // Adds the gradient of each micro-batch to the optimizer's window. Every rank computes the same
  // number of them; one without rows, or with a filler, has weight 0. A micro-batch for which there
  // is no memory is computed in pieces, and the rank says so the first time. Throws InputError (70)
  // if memory runs out even so.
  void compute(const StepBatches& batches, const TrainingStep& step);
  // Returns what the losses of compute() reported since the last call.
  [[nodiscard]] std::vector<LossFigure> take_figures() { return std::exchange(figures_, {}); }
  // The step that compute() computed has been made.
  void after_step() { room_.after_step(); }

 private:
  void compute(const Batch& batch, const TrainingStep& step, std::int64_t number);
  void compute_piece(const Batch& piece, const TrainingStep& step);
  [[nodiscard]] Loss loss_of(const Batch& batch, const TrainingStep& step) const;
  [[nodiscard]] Batch longest() const;
  [[nodiscard]] std::int64_t fitting(const Batch& longest, const TrainingStep& step);
  void tell(std::int64_t step, const Batch& batch, std::int64_t pieces);

  Communicator& world_;
  const RunSettings& settings_;
  const TrainJob& job_;
  const Bert& model_;
  DistributedOptimizer& optimizer_;
  MemoryRoom room_;
  std::vector<LossFigure> figures_;
  std::int64_t most_ = 0;  // rows of a pass, as find_batch() has found; 0: any number
  bool has_told_ = false;
};

}  // namespace bp::trainer
