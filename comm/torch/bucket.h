// The memory of some gradients, and their sum over all ranks. Needs no LibTorch.
//
// If the gradients are summed in their own type, they lie in the communicator's memory and are
// summed in place. If the wire's type is narrower, start() rounds the gradients into the
// communicator's memory, which is summed, and finish() writes the sums back over the gradients. So
// all ranks keep the same values.
//
// The memory lies on the device of the bucket's arithmetic. What is read and written there follows
// the stream of the thread that calls, and a collective begins after it.
//
// Where ranks own parts of the bucket (owned_counts()), each gets the sums of its part at least.
// Only those count. A bucket that *frees* has memory only while it needs it: for all elements until
// the sums are there, for this rank's part until the end of the window.
//
// With error feedback a rank adds to its gradients what rounding took from them in earlier windows:
// the *residual*. Only the rank's own rounding counts, not that of the sums. The wire i8 is
// all_reduce_int8(): gradients lie as if nothing were rounded, there is error feedback, and a rank
// counts what it rounds of its host's sums, and of all.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bp/collective.h"
#include "bp/communicator.h"
#include "comm/torch/bucket_arithmetic.h"
#include "comm/torch/bucket_layout.h"
#include "comm/torch/owners.h"

namespace bp {

// Decides which buckets of a window may start. A bucket may start once all gradients that it waits
// for have arrived and all buckets before it have started, so every rank starts them in the same
// order. Needs no LibTorch.
class BucketProgress {
 public:
  explicit BucketProgress(std::size_t buckets = 0) : outstanding_(buckets, 0) {}

  // Begins a window in which no bucket waits for a gradient.
  void clear();
  // Bucket `bucket` waits for `gradients` more gradients.
  void expect(std::size_t bucket, std::size_t gradients = 1) { outstanding_[bucket] += gradients; }
  // A gradient that `bucket` waits for has arrived.
  void arrived(std::size_t bucket) { --outstanding_[bucket]; }
  // No bucket waits for a gradient any more.
  void expect_no_more();

  // Returns the bucket to start next, which counts as started from here on. Returns nothing if it
  // still waits for a gradient, or if all have started.
  [[nodiscard]] std::optional<std::size_t> next();
  [[nodiscard]] bool has_started(std::size_t bucket) const { return bucket < next_; }

 private:
  std::vector<std::size_t> outstanding_;  // gradients that each bucket waits for
  std::size_t next_ = 0;
};

class Bucket {
 public:
  // All elements are zeros. `extra` f32 elements after the slots are summed with them. `owners`:
  // null if each rank owns everything. `frees` is for owners on the CPU without error feedback.
  // `comm` and `arithmetic` must outlive this object.
  Bucket(Communicator& comm,
         BucketPlan plan,
         std::size_t extra,
         bool error_feedback,
         const Owners* owners = nullptr,
         bool frees = false,
         const BucketArithmetic& arithmetic = host_bucket_arithmetic());

  [[nodiscard]] const BucketPlan& plan() const { return plan_; }
  // All slots as one vector of plan().count elements, without the extra ones. It begins at a
  // multiple of 64 bytes, and exists as long as a copy of the pointer does.
  [[nodiscard]] const std::shared_ptr<std::byte>& memory() const { return memory_; }
  // Their residuals, f32. Null if nothing is narrowed, or without error feedback.
  [[nodiscard]] const std::shared_ptr<std::byte>& residuals() const { return residuals_; }
  // The elements whose sums this rank gets and whose parameters it updates.
  [[nodiscard]] const Block& own() const { return own_; }
  [[nodiscard]] Block part_of(int owner) const;
  // The extra elements.
  [[nodiscard]] View extra() const;
  // Writes them. `values` must have as many as the constructor's `extra`.
  void write_extra(std::span<const float> values);
  // Writes zeros, because the slot has no gradient in this window.
  void clear(const Slot& slot);

  // Until finish(), the caller must not touch the gradients and the extra elements.
  void start(const std::string& name);
  void wait() { work_.wait(); }
  // After wait(): the sums of own(), as they were on the wire. The same bits on all ranks.
  [[nodiscard]] View sums() const;
  // After wait(): writes the sums of own() to memory(). With `count_errors`, this window's rounding
  // errors become the next window's residual; without it, the residual stays as before the window.
  void finish(bool count_errors);
  void scale_residuals(double factor);
  // If the bucket frees. Of the sums: once they are there. `zeroes`: those of others become zeros.
  [[nodiscard]] bool is_summed(std::chrono::milliseconds within) { return work_.wait_for(within); }
  void free_sums_of_others(bool zeroes);
  void free_all();

 private:
  [[nodiscard]] bool is_int8() const { return plan_.wire == DataType::i8; }
  [[nodiscard]] bool is_narrowed() const { return plan_.wire != plan_.type && !is_int8(); }
  [[nodiscard]] DataType summed_type() const { return is_int8() ? plan_.type : plan_.wire; }
  [[nodiscard]] View wire() const;  // all elements but the extra ones, as they are summed
  // Only if residuals(): f32.
  [[nodiscard]] View gradients() const;
  [[nodiscard]] View errors() const;
  // Calls act(offset, count) for the elements that have a gradient in this window.
  template <class Act>
  void for_filled(const Act& act) const;

  Communicator& comm_;
  const BucketArithmetic& arithmetic_;
  BucketPlan plan_;
  std::size_t extra_;
  bool frees_;
  std::vector<std::size_t> counts_;  // by owner; empty: each rank owns everything
  bool scatters_ = false;
  Block own_;
  std::shared_ptr<Buffer> buffer_;     // what is summed
  std::shared_ptr<std::byte> memory_;  // in buffer_, unless is_narrowed()
  std::shared_ptr<std::byte> residuals_;
  std::shared_ptr<std::byte> new_errors_;  // of this window, if is_int8()
  std::vector<std::size_t> empty_;         // offsets of slots without a gradient in this window
  std::string name_;
  Work work_;
};

}  // namespace bp
