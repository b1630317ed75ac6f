#include "trainer/train/loop/step_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/divide_rows.h"
#include "trainer/train/loop/host_shares.h"

namespace bp::trainer {
namespace {

// The first step makes memory and threads. It says little about the next ones.
constexpr std::int64_t kWarmUp = 2;
constexpr std::int64_t kPartsOfRank = 64;  // of the tokens of a step

RowShares from_start(const std::vector<double>& shares) {
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  RowShares result;
  for (const double share : shares) {
    result.rows.push_back(static_cast<std::int64_t>(std::llround(1e6 * share / all)));
  }
  return result;
}

}  // namespace

StepShares::StepShares(const std::string& asked,
                       const Topology& topology,
                       std::vector<RowShares> resumed,
                       std::int64_t now,
                       const std::vector<double>& weights)
    : is_automatic_(asked == "auto" && topology.size() > 1), from_(now + kWarmUp) {
  if (asked == "auto" || asked == "weights") {
    if (!weights.empty()) all_ = {from_start(weights)};
  } else if (asked != "equal") {
    all_ = {from_start(of_ranks(shares_of_hosts("--share", asked, topology), topology))};
  }
  const bool fits = std::ranges::all_of(resumed, [&](const RowShares& shares) {
    return shares.rows.size() == static_cast<std::size_t>(topology.size()) &&
           std::ranges::any_of(shares.rows, [](std::int64_t rows) { return rows > 0; });
  });
  if (!is_automatic_ || !fits) return;
  if (!resumed.empty()) all_ = std::move(resumed);
  if (!all_.empty()) from_ = std::max(from_, all_.back().from_step);
}

void StepShares::start_work(std::int64_t rows, const std::vector<std::int64_t>& now) {
  rows_ = rows;
  work_.emplace(static_cast<int>(now.size()), WorkSharesOptions{.rows = rows});
  work_->resume(now);
}

bool StepShares::move_by_rows(const Taken& taken) {
  const std::int64_t rows = std::accumulate(taken.rows.begin(), taken.rows.end(), std::int64_t{0});
  const bool is_shorter = rows < rows_;
  if (is_shorter && !std::exchange(was_shorter_, true)) return false;  // the last step of an epoch
  was_shorter_ = false;
  if (rows != rows_) start_work(rows, {taken.rows.begin(), taken.rows.end()});
  return work_->add(taken.seconds);
}

// The ranks divide equal parts of a step. What a step took a rank counts as if the rank had had
// exactly its parts of the tokens.
bool StepShares::move_by_tokens(const Taken& taken) {
  const std::size_t ranks = taken.tokens.size();
  if (!work_) {
    const std::vector<double> now =
        all_.empty() ? std::vector<double>(ranks, 1)
                     : std::vector<double>(all_.back().rows.begin(), all_.back().rows.end());
    const std::int64_t parts = kPartsOfRank * static_cast<std::int64_t>(ranks);
    start_work(parts, divide_rows(parts, now));
  }
  std::vector<double> seconds(taken.seconds.begin(), taken.seconds.end());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (taken.tokens[rank] == 0) return false;
    seconds[rank] *=
        static_cast<double>(work_->rows()[rank]) / static_cast<double>(taken.tokens[rank]);
  }
  return work_->add(seconds);
}

std::optional<RowShares> StepShares::add(const Taken& taken) {
  // The shares of before the last ones that have begun are no longer needed.
  while (all_.size() > 1 && all_[1].from_step <= taken.step + 1) all_.erase(all_.begin());
  if (!is_automatic_ || taken.step < from_ || taken.seconds.size() != taken.rows.size()) return {};
  if (!(taken.tokens.empty() ? move_by_rows(taken) : move_by_tokens(taken))) return {};
  from_ = taken.step + taken.delay;
  return all_.emplace_back(RowShares{.from_step = from_, .rows = work_->rows()});
}

}  // namespace bp::trainer
