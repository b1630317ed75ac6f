// The memory in which some gradients lie, and its way to the sum over all ranks.
//
// Where the wire has the gradients' own type, that memory is the communicator's and is summed in
// place. Where it is narrower, start() rounds the gradients into the communicator's memory, that is
// summed, and finish() writes the sum back over the gradients: what a rank keeps is what all have.
//
// With error feedback a rank adds to its gradients what rounding took from them in the windows
// before: the *residual*. Only what the rank itself rounds counts, not the sums of others.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "comm/torch/bucket_layout.h"

namespace bp {

class Bucket {
 public:
  // All zeros; `extra` f32 elements behind the slots are summed with them. `comm` must outlive it.
  Bucket(Communicator& comm, BucketPlan plan, std::size_t extra, bool error_feedback);

  [[nodiscard]] const BucketPlan& plan() const { return plan_; }
  // A gradient's place, in the shape and with the strides of its parameter.
  [[nodiscard]] at::Tensor place(const Slot& slot, const at::Tensor& parameter) const;
  // The same of its residual; undefined where nothing is narrowed or there is no feedback.
  [[nodiscard]] at::Tensor residual(const Slot& slot, const at::Tensor& parameter) const;
  // All slots as one vector, without what is behind them.
  [[nodiscard]] const at::Tensor& memory() const { return memory_; }
  [[nodiscard]] float* extra() const;
  void clear(const Slot& slot);

  // Gradients and what is behind them must not be touched until finish().
  void start(const std::string& name);
  void wait() { work_.wait(); }
  // After wait(): no infinity and no NaN came. The same on all ranks.
  [[nodiscard]] bool is_finite() const;
  // After wait(): the sums are in memory(). `count_errors` makes this window's rounding the next
  // one's residual; without it the window counts as not having been, and the residual stays.
  void finish(bool count_errors);
  void scale_residual(double factor);

 private:
  [[nodiscard]] bool is_narrowed() const { return plan_.wire != plan_.type; }

  Communicator& comm_;
  BucketPlan plan_;
  std::size_t extra_;
  std::shared_ptr<Buffer> buffer_;  // on the wire
  at::Tensor memory_;               // all slots; in buffer_ unless it is narrowed
  at::Tensor residual_;             // likewise long, where there is feedback
  std::string name_;
  Work work_;
};

}  // namespace bp
