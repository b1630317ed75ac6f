#include "trainer/train/loop/step_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "trainer/train/loop/host_shares.h"

namespace bp::trainer {
namespace {

// The first step makes memory and threads. It says little about the next ones.
constexpr std::int64_t kWarmUp = 2;

std::vector<std::int64_t> in_thousandths(const std::vector<double>& shares) {
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<std::int64_t> rows;
  for (const double share : shares) {
    rows.push_back(static_cast<std::int64_t>(std::llround(1e6 * share / all)));
  }
  return rows;
}

}  // namespace

StepShares::StepShares(const std::string& asked,
                       const Topology& topology,
                       std::vector<RowShares> resumed,
                       std::int64_t now)
    : is_automatic_(asked == "auto" && topology.size() > 1), from_(now + kWarmUp) {
  if (asked != "auto" && asked != "equal") {
    const std::vector<double> shares =
        of_ranks(shares_of_hosts("--share", asked, topology), topology);
    all_ = {{.from_step = 0, .rows = in_thousandths(shares)}};
  }
  const bool fits = std::ranges::all_of(resumed, [&](const RowShares& shares) {
    return shares.rows.size() == static_cast<std::size_t>(topology.size()) &&
           std::ranges::any_of(shares.rows, [](std::int64_t rows) { return rows > 0; });
  });
  if (!is_automatic_ || !fits) return;
  all_ = std::move(resumed);
  if (!all_.empty()) from_ = std::max(from_, all_.back().from_step);
}

std::optional<RowShares> StepShares::add(const Taken& taken) {
  // The shares of before the last ones that have begun are no longer needed.
  while (all_.size() > 1 && all_[1].from_step <= taken.step + 1) all_.erase(all_.begin());
  if (!is_automatic_ || taken.step < from_ || taken.seconds.size() != taken.rows.size()) return {};
  const std::int64_t rows = std::accumulate(taken.rows.begin(), taken.rows.end(), std::int64_t{0});
  const bool is_shorter = rows < rows_;
  if (is_shorter && !std::exchange(was_shorter_, true)) return {};  // the last step of an epoch
  was_shorter_ = false;
  if (rows != rows_) {
    rows_ = rows;
    work_.emplace(static_cast<int>(taken.rows.size()), WorkSharesOptions{.rows = rows});
    work_->resume({taken.rows.begin(), taken.rows.end()});
  }
  if (!work_->add(taken.seconds)) return {};
  from_ = taken.step + taken.delay;
  return all_.emplace_back(RowShares{.from_step = from_, .rows = work_->rows()});
}

}  // namespace bp::trainer
