// The averages of the weights that --ema or --swa-from asks of a run, and when they take part.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "bp/communicator.h"
#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/train/averaged_weights.h"

namespace bp::trainer {

class RunAverages {
 public:
  explicit RunAverages(const Options& options);

  // Whether the run makes averages, sooner or later.
  [[nodiscard]] bool are_made() const { return ema_ > 0 || swa_from_ > 0; }
  // Collective. Begins with the weights that the model has now or, if `updates` is not 0, with the
  // averages of a checkpoint after as many updates, which rank 0 has.
  void start(const Bert& model,
             std::int64_t updates,
             const std::vector<at::Tensor>& averages,
             Communicator& world);
  // Adds the weights after a step, unless --swa-from begins later. `done`: the share of the
  // schedule's steps that were done before this one.
  void update(const Bert& model, double done);
  // Returns null if there are none yet.
  [[nodiscard]] AveragedWeights* get();
  [[nodiscard]] std::int64_t updates() const { return averages_ ? averages_->updates() : 0; }

 private:
  double ema_;
  double swa_from_;
  std::optional<AveragedWeights> averages_;
};

}  // namespace bp::trainer
