// The gradients of one window on this rank: where they are in memory, and how they become the sums
// over all ranks.
//
// With several ranks every gradient has a slot in a bucket of the communicator's memory. When
// autograd has made the first gradient of a window, it is moved there; autograd adds later ones
// there, and the optimizer reads the reduced gradient there. So each gradient is copied once. With
// one rank there are no buckets, and gradients stay where autograd puts them.
//
// A backward pass may run others inside it, as re-entrant checkpoints do, so several gradients of
// one parameter may arrive in it. The number is known from the backward passes before. One more
// than expected may come when the bucket has started. It is then *late*: it is kept apart, and the
// ranks sum late gradients at the end of the window, in collectives of their own.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "bp/communicator.h"
#include "comm/torch/bucket.h"
#include "comm/torch/bucket_arithmetic.h"
#include "comm/torch/bucket_layout.h"
#include "comm/torch/owners.h"
#include "comm/torch/parameter_set.h"
#include "comm/torch/sparse_rows.h"
#include "comm/torch/window_totals.h"

namespace bp {

// What a rank has besides gradients.
struct OwnTotals {
  double weight = 0;
  double weighted_loss = 0;
  double seconds = 0;              // of its passes
  at::Tensor loss_on_device = {};  // a part of weighted_loss; undefined: none
  bool stops = false;
  std::uint64_t fingerprint = 0;  // of what must be the same on all ranks
  bool is_from_backward = false;  // that is, as it was at the end of the window's last backward()
  int split = 0;                  // micro-batches that were computed in pieces
};

// The same of all ranks.
struct Totals {
  double weight = 0;
  double weighted_loss = 0;
  std::vector<double> seconds = {};  // of each rank's passes
  bool stops = false;                // some rank does
  std::int64_t split = 0;            // micro-batches that were computed in pieces
  // Only fingerprints of the same place in the program can be compared. Some ranks may fill the
  // window while others do not.
  enum class Fingerprints : std::uint8_t { equal, different, incomparable };
  Fingerprints fingerprints = Fingerprints::equal;
  bool from_all_ranks = true;  // no rank has joined (join() of bp/collective.h)
  bool finite = true;          // every sum is finite, or the options do not ask for the check
};

struct GradientsOptions {
  std::vector<std::string> sparse = {};  // names
  BucketLimits limits = {};
  bool error_feedback = false;
  bool check_finite = false;
  Owners* owners = nullptr;  // see Bucket; each rank has the sums of its part_of() only
  bool frees = false;        // as a Bucket does
  bool adds_up = false;      // add_up() is called
  bool waits = true;         // in a backward pass, until the first of many sums is there
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

  // In this window this rank's sparse gradient of the parameter has no other rows. Collective.
  // Before any bucket starts, and once a window.
  void announce_rows(const std::string& parameter, std::span<const std::int64_t> rows);
  // Autograd is about to add `gradient` to that of parameter i. Returns true if it must not,
  // because the gradient is late and has been taken.
  [[nodiscard]] bool takes_late(std::size_t i, const at::Tensor& gradient);
  // The same of a gradient that does not count. Returns true.
  [[nodiscard]] bool passes(std::size_t i);
  // Autograd has added to parameter i's gradient.
  void arrived(std::size_t i);
  // A backward pass begins. The first given[i] gradients of parameter i are already in the window,
  // because a pass that failed has added them for all rows of this one, and more; empty: none are.
  void begin_pass(const std::vector<std::size_t>& given);
  // Autograd is about to add such a gradient, and must not. Before takes_late() and passes().
  [[nodiscard]] bool was_given(std::size_t i);
  // The pass has failed. Returns how many gradients of each parameter are in the window for all its
  // rows. No further arrival is in the window's last pass, until expect_last() is called again.
  [[nodiscard]] std::vector<std::size_t> pass_failed();
  // The pass has ended.
  void backward_ended();
  // From now on each arrival is in this window's last backward pass, or in the last one before
  // add_up(). Buckets start in order, each as soon as it is complete, but the last one only in
  // start_rest().
  void expect_last();
  // No further gradient arrives in this micro-batch, which is not the window's last one. Waits for
  // its sums. Each rank keeps those of its part_of() in its slots, which are zeros elsewhere, so
  // the sums of the next micro-batch have them, too.
  void add_up();
  // No further gradient arrives. Starts the remaining buckets, with zeros for missing gradients.
  // The last one carries `mine`.
  void start_rest(const OwnTotals& mine);
  // Waits for the sums, and sums sparse and late gradients. A window whose sums are not all finite
  // leaves no residual. Afterwards every trained parameter has its reduced gradient, or none if no
  // rank had one. Returns the totals of all ranks.
  [[nodiscard]] Totals finish();

  // Returns which elements of parameter i an owner has the sums of, in the order of memory.
  [[nodiscard]] Block part_of(std::size_t i, int owner) const;

  // After finish(): the 2-norm of all reduced gradients, in double precision, with the same bits on
  // all ranks. On a device, and where ranks own parts of them, it is a collective. On a device
  // finish() has computed it, so this waits for the device only if the program has changed a
  // gradient since. There it is rounded to single precision.
  [[nodiscard]] double norm() const;
  // After finish(): multiplies all reduced gradients by `factor`.
  void scale(double factor);
  // Empties the window.
  void clear();

  // Throws invalid_argument, naming the parameter, if the program has cleared, replaced or changed
  // a gradient that arrived in this window.
  void require_untouched() const;
  // Returns the order in which gradients arrived in this window's last micro-batch, each for the
  // last time; those that did not arrive follow. Empty if none arrived.
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

  // After finish(): the parameters that require a gradient and have got none on any rank.
  [[nodiscard]] std::vector<std::string> missing() const;

  [[nodiscard]] std::size_t bucket_count() const { return buckets_.size(); }
  [[nodiscard]] std::uint64_t started() const { return started_; }  // since construction

 private:
  struct Entry {
    Parameter parameter = {};
    bool is_sparse = false;
    std::unique_ptr<AnnouncedRows> announced = {};
    at::Tensor slot = {};  // in a bucket; undefined with one rank, and for a sparse one
    std::size_t bucket = 0;
    std::size_t offset = 0;          // of the slot
    const void* arrived = nullptr;   // the gradient of this window, to see that it is replaced
    std::int64_t version = 0;        // of `slot` when it arrived, to see that it is changed
    std::uint64_t last = 0;          // its last element then, hashed, for the same
    bool is_last = false;            // of the window's last micro-batch
    bool has_sums = false;           // the slot does, of earlier micro-batches of all ranks
    std::size_t given = 0;           // gradients of this pass, by one that failed
    std::size_t arrivals = 0;        // in this backward pass
    std::size_t most_arrivals = 1;   // in any backward pass
    at::Tensor late = {};            // the sum of late gradients; undefined: none
    bool is_unused = false;          // no rank has a gradient; only after finish()
    const void* measured = nullptr;  // the gradient whose norm is in norm_
    std::int64_t measured_version = 0;
    [[nodiscard]] bool is_frozen() const;
    [[nodiscard]] bool has_arrived() const { return arrived != nullptr || late.defined(); }
    // Only after its arrival: neither cleared nor replaced; and not written by way of its slot.
    [[nodiscard]] bool is_same() const;
    [[nodiscard]] bool is_untouched() const;
    [[nodiscard]] std::int64_t version_now() const;
    [[nodiscard]] std::uint64_t last_now() const;
    [[nodiscard]] bool is_replaced() const;  // only after finish(): it is no longer in its bucket
    [[nodiscard]] const at::Tensor& grad() const { return parameter.tensor.grad(); }
    [[nodiscard]] at::Tensor& grad() { return parameter.tensor.mutable_grad(); }
  };

  void lay_out(const std::vector<std::size_t>& order);
  void free_buckets();
  [[nodiscard]] at::Tensor own_sums(const Bucket& bucket) const;
  void start_complete();
  void start(Bucket& bucket);
  void free_sums_of_others();
  void count_arrival(std::size_t i);
  void count_in_bucket(std::size_t i);
  void write_totals(Bucket& bucket) const;
  [[nodiscard]] Totals read_totals();
  [[nodiscard]] Totals totals_of(std::span<const double> sums);
  [[nodiscard]] std::vector<ConstView> all_sums() const;
  [[nodiscard]] bool are_all_finite() const;
  // Whether the program has replaced no gradient. Refuses it where no rank has a whole one.
  [[nodiscard]] bool are_in_buckets() const;
  // Returns few tensors that together hold every reduced gradient that this rank owns once, also
  // one by which the program has replaced another.
  [[nodiscard]] std::vector<at::Tensor> memory() const;
  [[nodiscard]] double norm_on_host() const;
  [[nodiscard]] double norm_on_device() const;  // of what this rank owns
  void remember_norm(double norm);
  [[nodiscard]] bool is_norm_known() const;
  static void require_layout(const Entry& entry, const at::Tensor& gradient);
  void require_untouched_in_flight() const;
  void sum_sparse_ones();
  [[nodiscard]] std::vector<at::Tensor> sum_late_ones();
  [[nodiscard]] std::vector<at::Tensor> outside_buckets() const;
  [[nodiscard]] std::string name_of(const Bucket& bucket) const;

  Communicator& comm_;
  const c10::Device device_;
  const std::unique_ptr<const BucketArithmetic> on_device_;  // null for the CPU
  const BucketArithmetic& arithmetic_;
  GradientsOptions options_;
  std::vector<Entry> entries_;
  std::vector<Bucket> buckets_;
  WindowTotals totals_;
  BucketProgress progress_;
  std::size_t freed_ = 0;              // buckets without the sums of others
  int added_up_ = 0;                   // micro-batches
  std::vector<std::size_t> order_;     // that all ranks agreed on; empty: reverse_order()
  std::vector<std::size_t> arrivals_;  // of last gradients in this window
  bool expecting_last_ = false;
  bool has_expected_ = false;  // expect_last() has been called in this window
  bool some_rank_has_late_ones_ = false;
  OwnTotals mine_;
  std::optional<double> norm_;  // of the reduced gradients, if they lie on a device
  std::uint64_t started_ = 0;
};

}  // namespace bp
