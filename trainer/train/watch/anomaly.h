// Anomaly mode: examines every activation and every gradient of a step, in the order in which they
// are computed, and names the first one that is not a finite number.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "bp/communicator.h"
#include "trainer/model/bert.h"
#include "trainer/model/pass.h"

namespace bp::trainer {

// Finds the first anomaly of one step on this rank.
class AnomalyWatch {
 public:
  // `on`: whether it watches at all.
  explicit AnomalyWatch(bool on) : on_(on) {}

  // Lets the forward and backward passes of `step` report their activations and the gradients of
  // these. The step, and graphs made with it, may outlive this object.
  void observe(TrainingStep& step) const;
  // Collective, after the gradients are reduced. Throws InputError (70), the same on all ranks, if
  // any rank has found something, or if the gradient of a parameter is not finite.
  void require_none(Communicator& world, const Bert& model, std::int64_t step) const;

  // What was found first; empty: nothing.
  [[nodiscard]] const std::string& first() const { return *first_; }

 private:
  bool on_;
  std::shared_ptr<std::string> first_ = std::make_shared<std::string>();  // what was found first
};

}  // namespace bp::trainer
