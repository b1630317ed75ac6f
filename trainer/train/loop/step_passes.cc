#include "trainer/train/loop/step_passes.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <numeric>
#include <span>

#include "base/joined.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/log.h"
#include "bp/trace.h"
#include "trainer/tasks/task_input.h"
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

Batch StepPasses::longest() const {
  const SampleStore store = SampleStore::open(job_.store);
  const std::vector<std::int32_t> lengths = store.lengths(Split::train);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(job_.rows));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  std::ranges::stable_sort(rows, std::greater(), [&](std::int64_t row) {
    return lengths[static_cast<std::size_t>(row)];
  });
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(settings_.batch)));
  return load_batch(
      store, rows,
      settings_.task ? settings_.task->completion(store.vocabulary(), store.tokenizer()) : nullptr,
      {.seed = settings_.seed});
}

// On the CPU two passes tell what more need.
std::int64_t StepPasses::fitting(const Batch& longest, const TrainingStep& step) {
  std::vector<at::Tensor> trained;
  for (const auto& [name, tensor] : model_.parameters()) {
    if (tensor.requires_grad()) trained.push_back(tensor);
  }
  std::int64_t fits = 0;
  while (fits < longest.rows) {
    const std::int64_t next =
        std::min<std::int64_t>(std::max<std::int64_t>(2 * fits, 1), longest.rows);
    if (fits >= 2 && trained.front().is_cpu()) {
      const std::int64_t most = room_.most_rows(longest);
      return most == 0 ? longest.rows : most;
    }
    const Batch some = rows_of(longest, 0, next);
    if (room_.most_rows(some) != 0) break;
    try {
      const Loss loss = room_.watch(some, [&] { return loss_of(some, step); });
      (void)torch::autograd::grad({loss.mean}, trained, {}, false, false, true);
    } catch (const std::exception& error) {
      if (!means_out_of_memory(error)) throw;
      break;
    }
    fits = next;
  }
  return std::max<std::int64_t>(fits, 1);
}

std::string StepPasses::find_batch(const TrainingStep& step) {
  if (!settings_.fits_batch || model_.enters_layers()) return "";
  const Batch all = longest();
  const std::int64_t mine = fitting(all, step);
  std::vector<std::int64_t> of_ranks(static_cast<std::size_t>(world_.size()));
  all_gather(world_, const_view(std::span(&mine, 1)), view(of_ranks), {.name = "batches"});
  if (mine < all.rows) most_ = mine;
  return concat("--batch auto: the ranks have room for ", joined(of_ranks, ", "), " of their ",
                all.rows, " samples of a step at once, of up to ", all.length, " tokens");
}

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
  std::int64_t most = room_.most_rows(batch);
  if (most_ > 0) most = most > 0 ? std::min(most, most_) : most_;
  const auto passes = optimizer_.accumulate(batch.rows, pass, most);
  if (passes.made > 1 && most_ == 0) tell(number, batch, passes.made);
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
