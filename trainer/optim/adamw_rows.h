// AdamW on a matrix whose gradient is sparse: the rows of the words that a batch has. It makes the
// step that a dense gradient with zeros in the other rows makes. A row that never had a gradient
// has no moments, so it only decays.
//
// Most rows have no gradient in a step, and the time of their updates is that of reading and
// writing them. So a step may defer these updates: a row makes several of them at once, with the
// same bits as one by one.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "trainer/optim/update_loops.h"

namespace bp::trainer {

// What ranks of one host share of a matrix, in the same memory on all of them. Each steps blocks of
// rows of its own, and catches up any row.
struct RowShare {
  std::shared_ptr<std::byte> notes = {};  // AdamWRows::bytes_of_notes(); null: no other rank
  int rank = 0;
  int ranks = 1;
};

// Not thread-safe. It computes on LibTorch's threads.
class AdamWRows {
 public:
  // The tensors are fp32, in the host's memory and contiguous, and shared with the caller. Ranks
  // that share them make this object in the same step.
  AdamWRows(at::Tensor parameter, at::Tensor exp_avg, at::Tensor exp_avg_sq, RowShare share = {});
  [[nodiscard]] static std::size_t bytes_of_notes(std::int64_t rows);

  // Makes the step for a coalesced gradient. With `defer`, a row without a gradient makes it in one
  // of the next kMostDeferred steps, or when catch_up() asks for it.
  void step(const at::Tensor& gradient, const AdamWStep& step, bool defer);
  // Makes all updates that these rows lack, of which another rank may make some at the same time.
  // Throws timeout if it does not end. The same row may come several times.
  void catch_up(std::span<const std::int64_t> rows);
  void catch_up();
  // Whether some row lacks an update.
  [[nodiscard]] bool is_behind() const { return is_behind_; }

 private:
  static constexpr std::size_t kMostDeferred = 16;

  [[nodiscard]] const AdamWStep& recent(std::int64_t step) const;
  void catch_up_row(std::int64_t row, std::int64_t steps);
  void update_row(std::int64_t row, const float* gradient);
  template <class Body>
  void for_blocks(std::int64_t elements, const Body& body) const;
  // Whether this rank steps the block of this row.
  [[nodiscard]] bool is_own(std::int64_t row) const;
  [[nodiscard]] std::atomic_ref<std::int64_t> made(std::int64_t row) const;
  [[nodiscard]] bool begin_row(std::int64_t row, std::int64_t steps, std::int64_t& from) const;

  at::Tensor parameter_;
  at::Tensor exp_avg_;
  at::Tensor exp_avg_sq_;
  std::int64_t rows_;
  std::int64_t width_;
  std::array<AdamWStep, kMostDeferred> recent_ = {};  // step s is at s % kMostDeferred
  std::int64_t steps_ = 0;                            // since construction
  RowShare share_;
  std::int64_t* made_;   // of these, by each row; kBusy while a rank catches it up
  std::uint8_t* moves_;  // for each row: a moment may differ from 0
  bool is_behind_ = false;
};

}  // namespace bp::trainer
