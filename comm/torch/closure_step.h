// The step of an optimizer that evaluates the loss itself, as LBFGS does. Rank 0's optimizer
// decides where the loss is evaluated next and when the step ends. Each rank's own optimizer would
// decide differently, because its sums depend on threads and instruction set.
//
// Threads: one at a time.
#pragma once

#include <torch/optim/optimizer.h>

#include <functional>
#include <string_view>

#include "bp/communicator.h"
#include "comm/torch/gradient_window.h"
#include "comm/torch/parameter_set.h"

namespace bp {

class ClosureStep {
 public:
  // All must outlive this object.
  ClosureStep(Communicator& comm,
              const ParameterSet& parameters,
              torch::optim::Optimizer& optimizer,
              GradientWindow& window)
      : comm_(comm), parameters_(parameters), optimizer_(optimizer), window_(window) {}

  // Throw invalid_argument if a step without a closure is impossible now. A backward() outside of a
  // closure would begin a window that no such step can end.
  void require_step_possible() const;
  void require_backward_possible() const;
  // Throws invalid_argument if a step with this closure is impossible now.
  void require_possible(const std::function<void()>& closure) const;
  // Collective. Leaves a reduced window, which the caller must end.
  void run(const std::function<void()>& closure);
  // All ranks have got the state of rank 0's optimizer.
  void state_was_broadcast() { state_is_on_rank_0_ = false; }

 private:
  void require_no_closure_needed(std::string_view call) const;
  bool agree(bool evaluates);
  void lead(const std::function<void()>& closure);
  double evaluate(const std::function<void()>& closure);

  Communicator& comm_;
  const ParameterSet& parameters_;
  torch::optim::Optimizer& optimizer_;
  GradientWindow& window_;
  bool in_closure_ = false;
  bool state_is_on_rank_0_ = false;  // the wrapped optimizer's state
};

}  // namespace bp
