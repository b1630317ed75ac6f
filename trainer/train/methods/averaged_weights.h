// Averages of the weights over the steps of training, which are used as the model.
//
// An exponential moving average of the weights of a model over the steps of training (Polyak and
// Juditsky 1992; the form with a decay is that of TensorFlow's ExponentialMovingAverage). After the
// t-th update of the weights w, t = 1, 2, ...:
//
//   average = average + (1 - d) * (w - average)    with d = min(decay, (1 + t) / (10 + t))
//
// The average begins with the first weights, so there is no bias towards 0 to correct. The smaller
// d of the first updates, TensorFlow's with num_updates, lets it forget these weights quickly: d is
// 0.18 after the first update, 0.92 after 100, and 0.991 after 1000.
//
// With the decay 0 it is the plain mean of the weights after each update, d = (t - 1) / t, as in
// stochastic weight averaging (Izmailov et al. 2018).
//
// An element's average depends on this element alone, so all ranks compute the same bits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "bp/communicator.h"
#include "trainer/model/bert.h"
#include "trainer/options/options.h"

namespace bp::trainer {

class AveragedWeights {
 public:
  // Begins with the weights that the model has, after `updates` updates.
  AveragedWeights(const Bert& model, double decay, std::int64_t updates = 0);

  // Adds the weights, which have changed, to the average.
  void update(const Bert& model);
  // Exchanges the weights of the model and their averages. Calls parameters_changed().
  void exchange(Bert& model);
  // Collective. Gives all ranks the averages of rank 0; the other ranks' `averages` do not count.
  void set(const std::vector<at::Tensor>& averages, Communicator& world);

  [[nodiscard]] std::int64_t updates() const { return updates_; }
  // In the order of Bert::parameters(), and on their device.
  [[nodiscard]] const std::vector<at::Tensor>& averages() const { return averages_; }

 private:
  double decay_;
  std::int64_t updates_;
  std::vector<at::Tensor> averages_;
};

// While it exists, the model has the averages as its weights.
class WithAverages {
 public:
  // `averages` may be null: then nothing happens.
  WithAverages(AveragedWeights* averages, Bert& model) : averages_(averages), model_(model) {
    if (averages_ != nullptr) averages_->exchange(model_);
  }
  ~WithAverages() {
    if (averages_ != nullptr) averages_->exchange(model_);
  }
  WithAverages(const WithAverages&) = delete;
  WithAverages& operator=(const WithAverages&) = delete;

 private:
  AveragedWeights* averages_;
  Bert& model_;
};

// The averages of the weights that --ema or --swa-from asks of a run, and when they take part.
class RunAverages {
 public:
  explicit RunAverages(const TrainOptions& options);

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
