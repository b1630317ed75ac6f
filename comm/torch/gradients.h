// The gradients of one window on this rank: where they live, and how they become the sum over all
// ranks.
//
// With several ranks every gradient has its place in a bucket of the communicator's memory. The
// first gradient of a window is moved there when autograd has made it, later ones are added there
// by autograd itself, and the reduced one is read there by the optimizer: one copy in all. With
// one rank there are no buckets and gradients stay where autograd puts them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "comm/torch/bucket.h"
#include "comm/torch/bucket_layout.h"
#include "comm/torch/bucket_progress.h"
#include "comm/torch/parameters.h"

namespace bp {

// What ranks add up besides gradients.
struct Totals {
  double weight = 0;
  double weighted_loss = 0;
  double stops = 0;
  bool finite = true;  // every sum is; only where options say so
};

struct GradientsOptions {
  std::vector<std::string> sparse = {};  // names
  BucketLimits limits = {};
  bool error_feedback = false;
  bool check_finite = false;
};

class Gradients {
 public:
  // Empties the parameters' gradients. `comm` must outlive this object.
  Gradients(Communicator& comm,
            const std::vector<Parameter>& parameters,
            const GradientsOptions& options);
  ~Gradients();  // empties them again: none is left in the communicator's memory
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;

  // Autograd has added to parameter i's gradient.
  void arrived(std::size_t i);
  // From here on each arrival is the parameter's last in this window: buckets start in order, each
  // as soon as it is complete, the last one with `mine`.
  void expect_last(const Totals& mine);
  // No more arrivals: starts what has not, with zeros for what never came.
  void start_rest(const Totals& mine);
  // Waits for the sums, and sums what is sparse. A window whose sums are not all finite leaves no
  // residual. Then every parameter that is trained has its reduced gradient, zeros where there was
  // none; a frozen one has none. Returns the totals of all ranks.
  [[nodiscard]] Totals finish();

  // After finish(): tensors that hold every reduced gradient once, in few pieces.
  [[nodiscard]] std::vector<at::Tensor> memory() const;
  // Empties the window.
  void clear();

  // Throws invalid_argument, naming the parameter, if someone took or replaced a gradient that
  // arrived in this window.
  void require_untouched() const;
  // In which order gradients came in this window's last micro-batch; those that never came follow.
  // Empty where none came.
  [[nodiscard]] std::vector<std::size_t> arrival_order() const;
  // Lays the buckets out in this order, which has each parameter's index once. Between windows, and
  // the same on all ranks. Residuals stay with their parameters.
  void rearrange(std::vector<std::size_t> order);
  // What rearrange() was given; empty before.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }

  // What rounding has taken from gradients and is still to be added, by parameter: views. None
  // without error feedback.
  [[nodiscard]] NamedTensors residuals() const;
  void load_residuals(const NamedTensors& given);
  void scale_residuals(double factor);

  // Parameters that require a gradient and have got none in this window.
  [[nodiscard]] std::vector<std::string> missing() const;

  [[nodiscard]] std::size_t bucket_count() const { return buckets_.size(); }
  [[nodiscard]] std::uint64_t started() const { return started_; }  // since construction

 private:
  static constexpr std::size_t kTotals = 3;  // f32 elements behind the last bucket's slots

  struct Entry {
    Parameter parameter = {};
    bool is_sparse = false;
    at::Tensor place = {};  // in a bucket; undefined with one rank, and for a sparse one
    std::size_t bucket = 0;
    const void* arrived = nullptr;  // the gradient that came in this window, to see it replaced
    bool is_last = false;           // the window's last one
    std::int64_t version = 0;       // of `place` when its bucket started
    [[nodiscard]] bool is_frozen() const;
    [[nodiscard]] bool is_untouched() const;  // for one that arrived
    [[nodiscard]] const at::Tensor& grad() const { return parameter.tensor.grad(); }
    [[nodiscard]] at::Tensor& grad() { return parameter.tensor.mutable_grad(); }
  };

  void lay_out(const std::vector<std::size_t>& order);
  void start_complete();
  void start(Bucket& bucket);
  static void require_layout(const Entry& entry);
  void require_untouched_in_flight() const;
  void sum_sparse_ones();
  [[nodiscard]] std::vector<at::Tensor> outside_buckets() const;
  [[nodiscard]] bool are_all_finite() const;
  [[nodiscard]] std::string name_of(const Bucket& bucket) const;

  Communicator& comm_;
  GradientsOptions options_;
  std::vector<Entry> entries_;
  std::vector<Bucket> buckets_;
  BucketProgress progress_;
  std::vector<std::size_t> order_;     // agreed; empty: reverse_order()
  std::vector<std::size_t> arrivals_;  // of last gradients in this window
  bool expecting_last_ = false;
  Totals mine_;
  std::uint64_t started_ = 0;
};

}  // namespace bp
