#include "trainer/train/loop/step_passes.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include "base/text.h"
#include "bp/log.h"
#include "bp/trace.h"
#include "trainer/train/loop/loop.h"
#include "trainer/train/methods/step_loss.h"
#include "trainer/train/watch/memory_advice.h"

namespace bp::trainer {

StepPasses::StepPasses(Communicator& world,
                       const RunSettings& settings,
                       const TrainJob& job,
                       const Bert& model,
                       DistributedOptimizer& optimizer)
    : world_(world),
      settings_(settings),
      job_(job),
      model_(model),
      optimizer_(optimizer),
      room_(world, model) {}

void StepPasses::compute(const StepBatches& batches, const TrainingStep& step) {
  advise_on_memory(batches, settings_, [&] {
    for (const Batch& batch : batches.micro_batches) {
      if (batch.rows == 0 || (batch.is_filler && !model_.enters_layers())) {
        optimizer_.backward(at::zeros({}), 0);
      } else {
        compute(batch, step, batches.step);
      }
    }
  });
}

void StepPasses::compute(const Batch& batch, const TrainingStep& step, std::int64_t number) {
  const auto pass = [&](RowRange rows) {
    if (rows.count == batch.rows) return compute_piece(batch, step);
    compute_piece(rows_of(batch, rows.first, rows.count), step);
  };
  const auto passes = optimizer_.accumulate(batch.rows, pass, room_.most_rows(batch));
  if (passes.made > 1) tell(number, batch, passes.made);
}

void StepPasses::compute_piece(const Batch& piece, const TrainingStep& step) {
  const Loss loss = room_.watch(piece, [&] { return loss_of(piece, step); });
  optimizer_.backward(loss.mean, piece.is_filler ? 0 : loss.weight);
  if (!piece.is_filler) figures_.insert(figures_.end(), loss.figures.begin(), loss.figures.end());
}

Loss StepPasses::loss_of(const Batch& batch, const TrainingStep& step) const {
  const TraceScope scope(world_.trace(), kComputeRow, "forward");
  return step_loss(model_, batch, step, job_.regularization, job_.distillation);
}

void StepPasses::tell(std::int64_t step, const Batch& batch, std::int64_t pieces) {
  if (std::exchange(has_told_, true)) return;
  const Topology& topology = world_.topology();
  log(LogLevel::warn,
      concat("rank ", world_.rank(), " on ", topology.host_name(topology.host()),
             " has too little memory for a batch of ", batch.rows, " samples of up to ",
             batch.length, " tokens at step ", step + 1, ", and computes it in ", pieces,
             " pieces: the result is the same. Said once"));
}

}  // namespace bp::trainer
