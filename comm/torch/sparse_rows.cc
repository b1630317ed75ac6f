#include "comm/torch/sparse_rows.h"

#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <span>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "bp/torch/collective.h"
#include "comm/torch/misuse.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

constexpr std::int64_t kFrozen = -1;  // instead of a number of rows

// Returns them ascending.
Rows rows_of(const SparseGradient& one) {
  const at::Tensor gradient =
      one.gradient.defined() ? one.gradient.coalesce() : no_rows(one.parameter.tensor);
  return {.numbers = gradient._indices().select(0, 0).contiguous(),
          .values = gradient._values().contiguous()};
}

at::Tensor numbers_tensor(const std::vector<std::int64_t>& numbers) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kLong);
  std::ranges::copy(numbers, tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

// Returns the places of `numbers` in `all`, which is ascending and has all of them.
at::Tensor places_in(std::span<const std::int64_t> all, std::span<const std::int64_t> numbers) {
  at::Tensor places = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kLong);
  std::ranges::transform(
      numbers, places.mutable_data_ptr<std::int64_t>(),
      [&](std::int64_t number) { return std::ranges::lower_bound(all, number) - all.begin(); });
  return places;
}

std::span<const std::int64_t> elements_in(const at::Tensor& numbers) {
  return {numbers.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(numbers.numel())};
}

// Returns them with zeros for the announced rows that the gradient lacks.
Rows with_announced(const Parameter& parameter,
                    const Rows& rows,
                    const std::vector<std::int64_t>& announced) {
  const std::span<const std::int64_t> numbers = elements_in(rows.numbers);
  if (std::ranges::equal(numbers, announced)) return rows;
  const auto odd = std::ranges::find_if_not(
      numbers, [&](std::int64_t number) { return std::ranges::binary_search(announced, number); });
  if (odd != numbers.end()) {
    refuse("the gradient of ", parameter.name, " has row ", *odd,
           ", which announce_rows() did not name in this window");
  }
  auto shape = rows.values.sizes().vec();
  shape[0] = static_cast<std::int64_t>(announced.size());
  Rows all{.numbers = numbers_tensor(announced), .values = at::zeros(shape, rows.values.options())};
  all.values.index_copy_(0, places_in(announced, numbers), rows.values);
  return all;
}

at::Tensor sparse(const at::Tensor& parameter,
                  const at::Tensor& numbers,
                  const at::Tensor& values) {
  return at::_sparse_coo_tensor_unsafe(numbers.unsqueeze(0), values, parameter.sizes())
      ._coalesced_(true);
}

// counts[r * n + i]: the rows of rank r for parameter i.
std::vector<std::int64_t> gather_counts(Communicator& comm, std::span<const std::int64_t> mine) {
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(comm.size()));
  all_gather(comm, const_view(mine), view(all), {.name = "rows of sparse gradients"});
  return all;
}

void require_frozen_everywhere(const std::string& name, std::span<const std::int64_t> counts) {
  const auto odd = std::ranges::find_if(
      counts, [&](std::int64_t n) { return (n == kFrozen) != (counts[0] == kFrozen); });
  if (odd != counts.end()) {
    throw Error(ErrorCode::mismatch,
                concat("DistributedOptimizer: parameter ", name, " is ",
                       *odd == kFrozen ? "frozen" : "not frozen", " on rank ", odd - counts.begin(),
                       " and ", *odd == kFrozen ? "not " : "", "on rank 0"));
  }
}

// Returns what will be the tensors of all ranks one after another. `counts`: their lengths along
// the first dimension.
at::Tensor start_gather(Communicator& comm,
                        const at::Tensor& mine,
                        std::span<const std::int64_t> counts,
                        const std::string& name,
                        std::vector<Work>& works) {
  auto shape = mine.sizes().vec();
  shape[0] = 0;
  std::vector<std::size_t> elements;
  std::int64_t width = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) width *= shape[i];
  for (const std::int64_t count : counts) {
    shape[0] += count;
    elements.push_back(static_cast<std::size_t>(count * width));
  }
  at::Tensor all = at::empty(shape, mine.options());
  works.push_back(all_gather_v_async(comm, view_of(mine), view_of(all), elements, {.name = name}));
  return all;
}

// Adds up rows of equal number, in their order.
Rows merge(const Rows& all) {
  const std::span<const std::int64_t> numbers = elements_in(all.numbers);
  std::vector<std::int64_t> unique(numbers.begin(), numbers.end());
  std::ranges::sort(unique);
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());

  auto shape = all.values.sizes().vec();
  shape[0] = static_cast<std::int64_t>(unique.size());
  Rows sums{.numbers = numbers_tensor(unique), .values = at::zeros(shape, all.values.options())};
  sums.values.index_add_(0, places_in(unique, numbers), all.values);
  return sums;
}

}  // namespace

AnnouncedRows::AnnouncedRows(Communicator& comm,
                             const Parameter& parameter,
                             std::span<const std::int64_t> rows)
    : bytes_(static_cast<std::size_t>(parameter.tensor.size(0) + 7) / 8),
      bits_(bytes_ * static_cast<std::size_t>(comm.size())) {
  const auto own = std::span(bits_).subspan(bytes_ * static_cast<std::size_t>(comm.rank()), bytes_);
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= parameter.tensor.size(0)) {
      refuse("announce_rows() with row ", row, " of ", parameter.name, ", which has ",
             parameter.tensor.size(0));
    }
    own[static_cast<std::size_t>(row / 8)] |= static_cast<std::uint8_t>(1U << (row % 8));
  }
  work_ = all_gather_async(comm, const_view(own), view(bits_),
                           {.name = "numbers of rows of " + parameter.name});
}

std::vector<std::vector<std::int64_t>> AnnouncedRows::of_ranks() {
  work_.wait();
  std::vector<std::vector<std::int64_t>> all(bits_.size() / bytes_);
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    const auto first = static_cast<std::int64_t>(i % bytes_ * 8);
    for (unsigned bits = bits_[i]; bits != 0; bits &= bits - 1) {
      all[i / bytes_].push_back(first + std::countr_zero(bits));
    }
  }
  return all;
}

at::Tensor no_rows(const at::Tensor& parameter) {
  auto shape = parameter.sizes().vec();
  shape[0] = 0;
  return sparse(parameter, at::empty({0}, at::kLong), at::empty(shape, parameter.options()));
}

// `numbers`: those of all ranks, one after another; undefined: each rank knows its own.
void SparseSums::start(Communicator& comm,
                       const SparseGradient& one,
                       const Rows& mine,
                       std::span<const std::int64_t> counts,
                       const at::Tensor& numbers) {
  OnItsWay& sent = all_.emplace_back(OnItsWay{.parameter = one.parameter.tensor, .mine = mine});
  const std::string name = "gradient rows of " + one.parameter.name;
  std::int64_t rows = 0;
  for (const std::int64_t count : counts) rows += count;
  const std::int64_t height = sent.parameter.size(0);
  const auto row_bytes =
      static_cast<std::int64_t>(sent.parameter.nbytes()) / std::max<std::int64_t>(height, 1);
  // What a rank receives: the rows of all ranks with their numbers, or the matrix twice, once as
  // parts of other ranks to be added and once as sums.
  if (rows * (row_bytes + 8) < 2 * height * row_bytes) {
    sent.all.numbers = numbers.defined() ? numbers
                                         : start_gather(comm, mine.numbers, counts,
                                                        name + ": numbers", sent.works);
    sent.all.values = start_gather(comm, mine.values, counts, name, sent.works);
    return;
  }
  sent.matrix = at::zeros(sent.parameter.sizes(), mine.values.options());
  sent.matrix.index_copy_(0, mine.numbers, mine.values);
  sent.works.push_back(all_reduce_async(comm, view_of(sent.matrix), {.name = name}));
}

void SparseSums::start_announced(Communicator& comm, const SparseGradient& one) {
  const std::vector<std::vector<std::int64_t>> of_ranks = one.announced->of_ranks();
  const std::vector<std::int64_t>& own = of_ranks[static_cast<std::size_t>(comm.rank())];
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> numbers;
  for (const std::vector<std::int64_t>& rows : of_ranks) {
    counts.push_back(static_cast<std::int64_t>(rows.size()));
    numbers.insert(numbers.end(), rows.begin(), rows.end());
  }
  start(comm, one, with_announced(one.parameter, rows_of(one), own), counts,
        numbers_tensor(numbers));
}

SparseSums::SparseSums(Communicator& comm, const std::vector<SparseGradient>& mine) {
  if (std::ranges::all_of(mine, &SparseGradient::announced)) {
    for (const SparseGradient& one : mine) {
      if (one.is_frozen) {
        (void)one.announced->of_ranks();
        all_.emplace_back();
      } else {
        start_announced(comm, one);
      }
    }
    return;
  }
  std::vector<Rows> rows;
  std::vector<std::int64_t> counts;
  for (const SparseGradient& one : mine) {
    rows.push_back(rows_of(one));
    counts.push_back(one.is_frozen ? kFrozen : rows.back().numbers.numel());
  }
  const std::vector<std::int64_t> all = gather_counts(comm, counts);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    std::vector<std::int64_t> of_ranks;
    for (std::size_t at = i; at < all.size(); at += mine.size()) of_ranks.push_back(all[at]);
    require_frozen_everywhere(mine[i].parameter.name, of_ranks);
    if (mine[i].is_frozen) {
      all_.emplace_back();
    } else {
      start(comm, mine[i], rows[i], of_ranks, {});
    }
  }
}

at::Tensor SparseSums::sum(OnItsWay& one) {
  for (Work& work : one.works) work.wait();
  if (one.matrix.defined()) {
    return sparse(one.parameter, at::arange(one.parameter.size(0), one.mine.numbers.options()),
                  one.matrix);
  }
  if (!one.all.values.defined()) return {};
  const Rows sums = merge(one.all);
  return sparse(one.parameter, sums.numbers, sums.values);
}

std::vector<at::Tensor> SparseSums::finish() {
  std::vector<at::Tensor> sums;
  std::ranges::transform(all_, std::back_inserter(sums), sum);
  all_.clear();
  return sums;
}

std::vector<at::Tensor> sum_sparse(Communicator& comm, const std::vector<SparseGradient>& mine) {
  return SparseSums(comm, mine).finish();
}

}  // namespace bp
