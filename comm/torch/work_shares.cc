#include "bp/torch/work_shares.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/divide_rows.h"

namespace bp {
namespace {

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
}

}  // namespace

WorkShares::WorkShares(int ranks, const WorkSharesOptions& options)
    : options_(options),
      rows_(divide_rows(
          options.rows, std::vector<double>(static_cast<std::size_t>(ranks), 1.0), options.most)) {}

void WorkShares::resume(const std::vector<std::int64_t>& rows) {
  rows_ = rows;
  seconds_.clear();
  steps_ = 0;
}

std::vector<std::int64_t> WorkShares::proposed_by(Steps steps) const {
  std::vector<double> rates;  // rows a second
  for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
    std::vector<double> all;
    for (const std::vector<double>& step : steps) all.push_back(step[rank]);
    const double seconds = median(std::move(all));
    rates.push_back(seconds > 0 ? static_cast<double>(rows_[rank]) / seconds : 0);
  }
  return divide_rows(options_.rows, rates, options_.most);
}

bool WorkShares::would_be_faster(const std::vector<std::int64_t>& next, Steps steps) const {
  std::vector<double> was;
  std::vector<double> would_be;
  std::ptrdiff_t faster = 0;
  for (const std::vector<double>& step : steps) {
    was.push_back(std::ranges::max(step));
    would_be.push_back(0);
    for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
      if (rows_[rank] == 0) continue;
      const double seconds =
          step[rank] * static_cast<double>(next[rank]) / static_cast<double>(rows_[rank]);
      would_be.back() = std::max(would_be.back(), seconds);
    }
    if (would_be.back() < was.back()) ++faster;
  }
  return faster + 1 >= std::ssize(steps) &&
         median(std::move(would_be)) * (1 + options_.gain) <= median(std::move(was));
}

bool WorkShares::add(std::span<const double> seconds) {
  seconds_.emplace_back(seconds.begin(), seconds.end());
  const auto window = static_cast<std::size_t>(options_.window);
  if (seconds_.size() > 2 * window) seconds_.erase(seconds_.begin());
  if (++steps_ % options_.every != 0 || seconds_.size() < 2 * window) return false;
  const Steps older = Steps(seconds_).first(window);
  const Steps newer = Steps(seconds_).last(window);
  const std::vector<std::int64_t> next = proposed_by(newer);
  if (!would_be_faster(next, older) || !would_be_faster(proposed_by(older), newer)) return false;
  resume(next);
  return true;
}

}  // namespace bp
