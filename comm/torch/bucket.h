// The memory in which some gradients lie, and its way to the sum over all ranks. Knows no LibTorch.
//
// Where the wire has the gradients' own type, that memory is the communicator's and is summed in
// place. Where it is narrower, start() rounds the gradients into the communicator's memory, that is
// summed, and finish() writes the sum back over the gradients: what a rank keeps is what all have.
//
// With error feedback a rank adds to its gradients what rounding took from them in the windows
// before: the *residual*. Only what the rank itself rounds counts, not the sums of others.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bp/communicator.h"
#include "comm/torch/bucket_layout.h"

namespace bp {

class Bucket {
 public:
  // All zeros; `extra` f32 elements behind the slots are summed with them. `comm` must outlive it.
  Bucket(Communicator& comm, BucketPlan plan, std::size_t extra, bool error_feedback);

  [[nodiscard]] const BucketPlan& plan() const { return plan_; }
  // All slots as one vector of plan().count elements, without what is behind them. It begins at 64
  // bytes, and stays for as long as there is a copy of the pointer.
  [[nodiscard]] const std::shared_ptr<std::byte>& memory() const { return memory_; }
  // The same of their residuals, f32; null where nothing is narrowed or there is no feedback.
  [[nodiscard]] const std::shared_ptr<std::byte>& residuals() const { return residuals_; }
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
  void scale_residuals(double factor);

 private:
  [[nodiscard]] bool is_narrowed() const { return plan_.wire != plan_.type; }
  // Only if is_narrowed().
  [[nodiscard]] float* gradients() const { return reinterpret_cast<float*>(memory_.get()); }
  [[nodiscard]] float* errors() const { return reinterpret_cast<float*>(residuals_.get()); }

  Communicator& comm_;
  BucketPlan plan_;
  std::size_t extra_;
  std::shared_ptr<Buffer> buffer_;     // on the wire
  std::shared_ptr<std::byte> memory_;  // in buffer_ unless it is narrowed
  std::shared_ptr<std::byte> residuals_;
  std::string name_;
  Work work_;
};

}  // namespace bp
