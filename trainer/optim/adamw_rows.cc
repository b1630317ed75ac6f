#include "trainer/optim/adamw_rows.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/deadline.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/optim/in_parallel.h"

namespace bp::trainer {
namespace {

// Threads take blocks of rows by turns, because the rows in motion are not evenly distributed: a
// vocabulary often has its frequent words first.
constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kTurns = 64;
constexpr std::int64_t kBusy = -1;
constexpr std::chrono::seconds kLongest{60};  // that a rank may need for a row

bool has_moments(const float* exp_avg, const float* exp_avg_sq, std::int64_t width) {
  const auto is_zero = [](float x) { return x == 0; };
  return !std::all_of(exp_avg, exp_avg + width, is_zero) ||
         !std::all_of(exp_avg_sq, exp_avg_sq + width, is_zero);
}

}  // namespace

// Calls body(begin, end) for each block of rows. `elements`: how many all calls together change,
// which decides the number of threads.
template <class Body>
void AdamWRows::for_blocks(std::int64_t elements, const Body& body) const {
  const std::int64_t blocks = (rows_ + kBlock - 1) / kBlock;
  const std::int64_t grain = std::max<std::int64_t>(1, kTurns * kGrain / (elements + 1));
  in_parallel(kTurns, grain, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t turn = first; turn < end; ++turn) {
      for (std::int64_t b = turn; b < blocks; b += kTurns) {
        body(b * kBlock, std::min(rows_, (b + 1) * kBlock));
      }
    }
  });
}

std::size_t AdamWRows::bytes_of_notes(std::int64_t rows) {
  return static_cast<std::size_t>(rows) * (sizeof(std::int64_t) + sizeof(std::uint8_t));
}

AdamWRows::AdamWRows(at::Tensor parameter,
                     at::Tensor exp_avg,
                     at::Tensor exp_avg_sq,
                     RowShare share)
    : parameter_(std::move(parameter)),
      exp_avg_(std::move(exp_avg)),
      exp_avg_sq_(std::move(exp_avg_sq)),
      rows_(parameter_.size(0)),
      width_(parameter_.stride(0)),
      share_(std::move(share)) {
  if (!share_.notes) {
    share_.notes = std::shared_ptr<std::byte>(new std::byte[bytes_of_notes(rows_)],
                                              std::default_delete<std::byte[]>());
  }
  made_ = reinterpret_cast<std::int64_t*>(share_.notes.get());
  moves_ = reinterpret_cast<std::uint8_t*>(made_ + rows_);
  BP_CHECK(parameter_.is_contiguous() && exp_avg_.is_contiguous() && exp_avg_sq_.is_contiguous(),
           "rows that are not contiguous");
  const auto* const m = exp_avg_.const_data_ptr<float>();
  const auto* const v = exp_avg_sq_.const_data_ptr<float>();
  for_blocks(rows_ * width_, [&](std::int64_t begin, std::int64_t end) {
    if (!is_own(begin)) return;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * width_;
      made_[row] = 0;
      moves_[row] = has_moments(m + at, v + at, width_) ? 1 : 0;
    }
  });
}

// One of the last kMostDeferred steps.
const AdamWStep& AdamWRows::recent(std::int64_t step) const {
  return recent_[static_cast<std::size_t>(step) % kMostDeferred];
}

bool AdamWRows::is_own(std::int64_t row) const {
  return row / kBlock % share_.ranks == share_.rank;
}

std::atomic_ref<std::int64_t> AdamWRows::made(std::int64_t row) const {
  return std::atomic_ref(made_[row]);
}

// Returns false if the row lacks none of `steps` updates. Otherwise no other rank touches it until
// made(row) is set, and *from is the first one that it lacks.
bool AdamWRows::begin_row(std::int64_t row, std::int64_t steps, std::int64_t& from) const {
  const std::atomic_ref<std::int64_t> made = this->made(row);
  from = made.load(std::memory_order_acquire);
  std::optional<Deadline> deadline;
  while (from < steps) {
    if (from != kBusy) {
      if (made.compare_exchange_weak(from, kBusy, std::memory_order_acquire)) return true;
      continue;
    }
    if (!deadline) deadline.emplace(kLongest);
    if (deadline->passed()) {
      throw Error(ErrorCode::timeout, concat("a rank of this host has begun to update word ", row,
                                             " and has not ended: its process may have died"));
    }
    std::this_thread::yield();
    from = made.load(std::memory_order_acquire);
  }
  return false;
}

// Makes the updates of a row without a gradient up to before step `steps`.
void AdamWRows::catch_up_row(std::int64_t row, std::int64_t steps) {
  std::int64_t first = 0;
  if (!begin_row(row, steps, first)) return;
  const bool moves = moves_[row] != 0;
  const std::int64_t at = row * width_;
  auto* const p = parameter_.mutable_data_ptr<float>() + at;
  for (std::int64_t number = first; number < steps; ++number) {
    const AdamWStep& step = recent(number);
    if (moves) {
      adamw_rest_loop(width_, p, exp_avg_.mutable_data_ptr<float>() + at,
                      exp_avg_sq_.mutable_data_ptr<float>() + at, step);
    } else if (step.kept != 1) {
      decay_loop(width_, p, step.kept);
    }
  }
  made(row).store(steps, std::memory_order_release);
}

// Makes all updates of a row, the last one with this gradient.
void AdamWRows::update_row(std::int64_t row, const float* gradient) {
  catch_up_row(row, steps_ - 1);
  const std::int64_t at = row * width_;
  adamw_loop(width_, parameter_.mutable_data_ptr<float>() + at, gradient,
             exp_avg_.mutable_data_ptr<float>() + at, exp_avg_sq_.mutable_data_ptr<float>() + at,
             recent(steps_ - 1));
  moves_[row] = 1;
  made(row).store(steps_, std::memory_order_release);
}

void AdamWRows::step(const at::Tensor& gradient, const AdamWStep& step, bool defer) {
  const at::Tensor numbers_of_rows = gradient._indices();
  const at::Tensor values = gradient._values().contiguous();
  const std::span numbers(numbers_of_rows.const_data_ptr<std::int64_t>(),
                          static_cast<std::size_t>(numbers_of_rows.numel()));
  const auto* const g = values.const_data_ptr<float>();
  recent_[static_cast<std::size_t>(steps_) % kMostDeferred] = step;
  ++steps_;
  is_behind_ = defer;
  // No row may lack more updates than recent_ has, so each step completes every sixteenth block,
  // which are spread over all turns.
  constexpr auto kPeriod = static_cast<std::int64_t>(kMostDeferred);
  const auto is_due = [&](std::int64_t block) {
    return !defer || (block + block / kTurns) % kPeriod == steps_ % kPeriod;
  };
  const std::int64_t elements = rows_ * width_ / (defer ? kPeriod : 1) / share_.ranks;
  for_blocks(elements, [&](std::int64_t begin, std::int64_t end) {
    if (!is_own(begin)) return;
    for (auto next = std::ranges::lower_bound(numbers, begin); next != numbers.end() && *next < end;
         ++next) {
      update_row(*next, g + (next - numbers.begin()) * width_);
    }
    if (!is_due(begin / kBlock)) return;
    for (std::int64_t row = begin; row < end; ++row) catch_up_row(row, steps_);
  });
}

void AdamWRows::catch_up(std::span<const std::int64_t> rows) {
  std::vector<std::int64_t> late;
  for (const std::int64_t row : rows) {
    BP_CHECK(row >= 0 && row < rows_, "there is no such row");
    if (made(row).load(std::memory_order_acquire) < steps_) late.push_back(row);
  }
  std::ranges::sort(late);
  late.erase(std::unique(late.begin(), late.end()), late.end());
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / width_);
  in_parallel(static_cast<std::int64_t>(late.size()), grain,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                  catch_up_row(late[static_cast<std::size_t>(i)], steps_);
                }
              });
}

void AdamWRows::catch_up() {
  if (!is_behind_) return;
  for_blocks(rows_ * width_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) catch_up_row(row, steps_);
  });
  is_behind_ = false;
}

}  // namespace bp::trainer
