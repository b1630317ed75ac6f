#include "trainer/train/methods/averaged_weights.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstddef>

#include "bp/collective.h"

namespace bp::trainer {

AveragedWeights::AveragedWeights(const Bert& model, double decay, std::int64_t updates)
    : decay_(decay), updates_(updates) {
  for (const auto& [name, weight] : model.parameters()) {
    averages_.push_back(weight.detach().clone());
  }
}

void AveragedWeights::update(const Bert& model) {
  const at::NoGradGuard no_grad;
  const auto t = static_cast<double>(++updates_);
  const double kept = decay_ > 0 ? std::min(decay_, (1 + t) / (10 + t)) : (t - 1) / t;
  const NamedTensors& weights = model.parameters();
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    averages_[i].lerp_(weights[i].second.detach(), 1 - kept);
  }
}

// Exchanges memory, not values: ranks may share the memory of the weights.
void AveragedWeights::exchange(Bert& model) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    at::Tensor weight = model.parameters()[i].second;
    const at::Tensor trained = weight.detach();
    weight.set_data(averages_[i]);
    averages_[i] = trained;
  }
  model.parameters_changed();
}

// As bytes, in the host's memory: the tensors have the same strides on all ranks.
void AveragedWeights::set(const std::vector<at::Tensor>& averages, Communicator& world) {
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const at::Tensor& average = averages_[i];
    if (world.rank() == 0 && !averages.empty()) average.copy_(averages[i]);
    const at::Tensor host = average.cpu();
    const View bytes = {.data = static_cast<std::byte*>(host.mutable_data_ptr()),
                        .count = host.nbytes(),
                        .type = DataType::u8};
    bp::broadcast(world, bytes, {.name = "averaged weights"});
    if (!average.is_cpu()) average.copy_(host);
  }
}

RunAverages::RunAverages(const TrainOptions& options)
    : ema_(options.ema), swa_from_(options.swa_from) {}

void RunAverages::start(const Bert& model,
                        std::int64_t updates,
                        const std::vector<at::Tensor>& averages,
                        Communicator& world) {
  if (!are_made()) return;
  averages_.emplace(model, ema_, updates);
  if (updates > 0) averages_->set(averages, world);
}

void RunAverages::update(const Bert& model, double done) {
  if (averages_ && (ema_ > 0 || done >= swa_from_)) averages_->update(model);
}

AveragedWeights* RunAverages::get() {
  return averages_ && averages_->updates() > 0 ? &*averages_ : nullptr;
}

}  // namespace bp::trainer
