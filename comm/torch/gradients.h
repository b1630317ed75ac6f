// The gradients of one window on this rank: where they are in memory, and how they become the sums
// over all ranks.
//
// With several ranks every gradient has a slot in a bucket of the communicator's memory. When
// autograd has made the first gradient of a window, it is moved there; autograd adds later ones
// there, and the optimizer reads the reduced gradient there. So each gradient is copied once. With
// one rank there are no buckets, and gradients stay where autograd puts them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "bp/communicator.h"
#include "comm/torch/bucket.h"
#include "comm/torch/bucket_arithmetic.h"
#include "comm/torch/bucket_layout.h"
#include "comm/torch/bucket_progress.h"
#include "comm/torch/parameters.h"

namespace bp {

// What ranks add up besides gradients.
struct Totals {
  double weight = 0;
  double weighted_loss = 0;
  at::Tensor loss_on_device = {};  // a part of weighted_loss; undefined: none
  double stops = 0;
  bool finite = true;  // every sum is finite, or the options do not ask for the check
};

struct GradientsOptions {
  std::vector<std::string> sparse = {};  // names
  BucketLimits limits = {};
  bool error_feedback = false;
  bool check_finite = false;
};

class Gradients {
 public:
  // Empties the parameters' gradients. The parameters must lie on one device. `comm` must outlive
  // this object.
  Gradients(Communicator& comm,
            const std::vector<Parameter>& parameters,
            const GradientsOptions& options);
  ~Gradients();  // empties them again, so that none stays in the communicator's memory
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;

  // Autograd has added to parameter i's gradient.
  void arrived(std::size_t i);
  // From now on each arrival is the parameter's last one in this window. Buckets start in order,
  // each as soon as it is complete. The last one carries `mine`.
  void expect_last(const Totals& mine);
  // No further gradient arrives. Starts the remaining buckets, with zeros for missing gradients.
  void start_rest(const Totals& mine);
  // Waits for the sums, and sums sparse gradients. A window whose sums are not all finite leaves no
  // residual. Afterwards every trained parameter has its reduced gradient, zeros if no rank had
  // one; a frozen one has none. Returns the totals of all ranks, with the whole loss in
  // weighted_loss.
  [[nodiscard]] Totals finish();

  // After finish(): the 2-norm of all reduced gradients, in double precision. On the CPU it has the
  // same bits on all ranks. On a device finish() has computed it, so this waits for the device only
  // if the program has changed a gradient since.
  [[nodiscard]] double norm() const;
  // After finish(): multiplies all reduced gradients by `factor`.
  void scale(double factor);
  // Empties the window.
  void clear();

  // Throws invalid_argument, naming the parameter, if the program has cleared or replaced a
  // gradient that arrived in this window.
  void require_untouched() const;
  // Returns the order in which gradients arrived in this window's last micro-batch; those that did
  // not arrive follow. Empty if none arrived.
  [[nodiscard]] std::vector<std::size_t> arrival_order() const;
  // Lays the buckets out in this order, which must have each parameter's index once and be the same
  // on all ranks. Only between windows. Residuals stay with their parameters.
  void rearrange(std::vector<std::size_t> order);
  // The order of the last rearrange(); empty before the first.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }

  // Returns views of the residuals, by parameter. None without error feedback.
  [[nodiscard]] NamedTensors residuals() const;
  void load_residuals(const NamedTensors& given);
  void scale_residuals(double factor);

  // Returns the parameters that require a gradient and have got none in this window.
  [[nodiscard]] std::vector<std::string> missing() const;

  [[nodiscard]] std::size_t bucket_count() const { return buckets_.size(); }
  [[nodiscard]] std::uint64_t started() const { return started_; }  // since construction

 private:
  static constexpr std::size_t kTotals = 3;  // f32 elements after the last bucket's slots

  struct Entry {
    Parameter parameter = {};
    bool is_sparse = false;
    at::Tensor slot = {};  // in a bucket; undefined with one rank, and for a sparse one
    std::size_t bucket = 0;
    const void* arrived = nullptr;   // the gradient of this window, to see that it is replaced
    bool is_last = false;            // of the window's last micro-batch
    std::int64_t version = 0;        // of `slot` when its bucket started
    const void* measured = nullptr;  // the gradient whose norm is in norm_
    std::int64_t measured_version = 0;
    [[nodiscard]] bool is_frozen() const;
    [[nodiscard]] bool is_untouched() const;  // only after its arrival
    [[nodiscard]] bool is_replaced() const;   // only after finish(): it is no longer in its bucket
    [[nodiscard]] const at::Tensor& grad() const { return parameter.tensor.grad(); }
    [[nodiscard]] at::Tensor& grad() { return parameter.tensor.mutable_grad(); }
  };

  void lay_out(const std::vector<std::size_t>& order);
  void free_buckets();
  [[nodiscard]] at::Tensor whole(const Bucket& bucket) const;
  void start_complete();
  void start(Bucket& bucket);
  void write_totals(Bucket& bucket) const;
  void read_totals(Totals& all);
  [[nodiscard]] std::vector<ConstView> all_sums() const;
  [[nodiscard]] bool are_all_finite() const;
  // Returns few tensors that together hold every reduced gradient once, also one by which the
  // program has replaced another.
  [[nodiscard]] std::vector<at::Tensor> memory() const;
  void remember_norm(double norm);
  [[nodiscard]] bool is_norm_known() const;
  static void require_layout(const Entry& entry);
  void require_untouched_in_flight() const;
  void sum_sparse_ones();
  [[nodiscard]] std::vector<at::Tensor> outside_buckets() const;
  [[nodiscard]] std::string name_of(const Bucket& bucket) const;

  Communicator& comm_;
  const c10::Device device_;
  const std::unique_ptr<const BucketArithmetic> on_device_;  // null for the CPU
  const BucketArithmetic& arithmetic_;
  GradientsOptions options_;
  std::vector<Entry> entries_;
  std::vector<Bucket> buckets_;
  BucketProgress progress_;
  std::vector<std::size_t> order_;     // that all ranks agreed on; empty: reverse_order()
  std::vector<std::size_t> arrivals_;  // of last gradients in this window
  bool expecting_last_ = false;
  Totals mine_;
  std::optional<double> norm_;  // of the reduced gradients, if they lie on a device
  std::uint64_t started_ = 0;
};

}  // namespace bp
