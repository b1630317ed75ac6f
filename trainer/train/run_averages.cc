#include "trainer/train/run_averages.h"

namespace bp::trainer {

RunAverages::RunAverages(const Options& options) : ema_(options.ema), swa_from_(options.swa_from) {}

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
