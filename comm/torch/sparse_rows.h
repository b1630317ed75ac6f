// Sums sparse gradients over all ranks, such as those of large embeddings: a few rows of a matrix,
// with their numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "bp/collective.h"
#include "bp/communicator.h"
#include "comm/torch/parameter_set.h"

namespace bp {

// The rows that gradients of a parameter may have, told to all ranks while they compute. Each rank
// sends a bit for each row of the parameter, so that nobody waits for the others' numbers of rows.
class AnnouncedRows {
 public:
  // Collective. Throws invalid_argument for a row that the parameter does not have. `comm` must
  // outlive this object.
  AnnouncedRows(Communicator& comm, const Parameter& parameter, std::span<const std::int64_t> rows);
  // Waits. Returns those of each rank, ascending.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> of_ranks();

 private:
  std::size_t bytes_;               // of a rank
  std::vector<std::uint8_t> bits_;  // by rank
  Work work_;
};

// This rank's gradient of one parameter. Having no rows is not the same as being frozen.
struct SparseGradient {
  Parameter parameter = {};
  at::Tensor gradient = {};  // undefined: no rows
  bool is_frozen = false;
  AnnouncedRows* announced = nullptr;  // on all ranks or none
};

// A matrix's rows with their numbers.
struct Rows {
  at::Tensor numbers = {};  // [n]
  at::Tensor values = {};   // [n, ...]
};

// The sums of the ranks' sparse gradients, on their way.
class SparseSums {
 public:
  SparseSums() = default;
  // Collective: every rank must pass the same parameters. Ranks send the rows that they have, or
  // the whole matrix if that is less. Waits for one small collective, and starts one or two for
  // each parameter. Throws a mismatch on all ranks if a parameter is frozen on only some of them.
  // If all rows are announced, it waits for their numbers instead, and throws invalid_argument for
  // a gradient that has others. `comm` must outlive this object.
  SparseSums(Communicator& comm, const std::vector<SparseGradient>& mine);
  // Waits. Returns the sums, coalesced, with the same bits on all ranks, because rows are added in
  // the order of ranks; undefined for a frozen parameter.
  [[nodiscard]] std::vector<at::Tensor> finish();

 private:
  struct OnItsWay {
    at::Tensor parameter = {};
    Rows mine = {};
    Rows all = {};           // of all ranks, one after another
    at::Tensor matrix = {};  // instead of them, if it is less
    std::vector<Work> works = {};
  };
  void start(Communicator& comm,
             const SparseGradient& one,
             const Rows& mine,
             std::span<const std::int64_t> counts,
             const at::Tensor& numbers);
  void start_announced(Communicator& comm, const SparseGradient& one);
  static at::Tensor sum(OnItsWay& one);

  std::vector<OnItsWay> all_;
};

// The same, at once.
[[nodiscard]] std::vector<at::Tensor> sum_sparse(Communicator& comm,
                                                 const std::vector<SparseGradient>& mine);

// Returns a gradient without rows for a parameter of this shape and type.
[[nodiscard]] at::Tensor no_rows(const at::Tensor& parameter);

}  // namespace bp
