// How many rows of a step each rank takes, as --share says: equal, fixed, or by the speed of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bp/topology.h"
#include "bp/torch/work_shares.h"
#include "trainer/batches/row_sampler.h"

namespace bp::trainer {

class StepShares {
 public:
  // `asked`: "equal"; "weights" for `weights`, the ranks', or equal shares if it is empty; "auto",
  // which begins with these; or the shares of all hosts, each of which its ranks divide evenly.
  // `resumed`: those of the checkpoint, which count if they are of as many ranks. `now`: steps that
  // the run has made. Throws InputError.
  StepShares(const std::string& asked,
             const Topology& topology,
             std::vector<RowShares> resumed,
             std::int64_t now,
             const std::vector<double>& weights = {});

  // Returns the shares of the next step and those of later ones.
  [[nodiscard]] const std::vector<RowShares>& all() const { return all_; }
  // Step `step`, from 0, had these rows and took each rank so many seconds. Returns new shares from
  // step + `delay` on, if there are any. `tokens`: the ranks', if these are what they share, since
  // steps have different numbers of rows.
  struct Taken {
    std::int64_t step = 0;
    std::span<const std::int64_t> rows;
    std::span<const double> seconds;
    std::int64_t delay = 0;
    std::span<const std::int64_t> tokens = {};
  };
  std::optional<RowShares> add(const Taken& taken);

 private:
  [[nodiscard]] bool move_by_rows(const Taken& taken);
  [[nodiscard]] bool move_by_tokens(const Taken& taken);
  void start_work(std::int64_t rows, const std::vector<std::int64_t>& now);

  bool is_automatic_;
  std::vector<RowShares> all_;  // in the order of their steps
  std::optional<WorkShares> work_;
  std::int64_t rows_ = 0;     // that work_ divides
  bool was_shorter_ = false;  // the step before
  std::int64_t from_ = 0;     // the first step with the shares of work_
};

}  // namespace bp::trainer
