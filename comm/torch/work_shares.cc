#include "bp/torch/work_shares.h"

#include <algorithm>
#include <cstddef>

#include "base/divide_rows.h"

namespace bp {

WorkShares::WorkShares(int ranks, const WorkSharesOptions& options)
    : options_(options),
      rows_(divide_rows(
          options.rows, std::vector<double>(static_cast<std::size_t>(ranks), 1.0), options.most)) {}

void WorkShares::resume(const std::vector<std::int64_t>& rows) {
  rows_ = rows;
  seconds_.clear();
  steps_ = agreed_ = 0;
}

std::vector<double> WorkShares::medians() const {
  std::vector<double> medians;
  for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
    std::vector<double> all;
    for (const std::vector<double>& step : seconds_) all.push_back(step[rank]);
    std::ranges::sort(all);
    medians.push_back((all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2);
  }
  return medians;
}

bool WorkShares::add(std::span<const double> seconds) {
  seconds_.emplace_back(seconds.begin(), seconds.end());
  const auto window = static_cast<std::size_t>(options_.window);
  if (seconds_.size() > window) seconds_.pop_front();
  if (++steps_ % options_.every != 0 || seconds_.size() < window) return false;
  const std::vector<double> now = medians();
  std::vector<double> rates;  // rows a second
  for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
    rates.push_back(now[rank] > 0 ? static_cast<double>(rows_[rank]) / now[rank] : 0);
  }
  const std::vector<std::int64_t> next = divide_rows(options_.rows, rates, options_.most);
  double slowest = 0;
  for (std::size_t rank = 0; rank < next.size(); ++rank) {
    if (next[rank] > 0) slowest = std::max(slowest, static_cast<double>(next[rank]) / rates[rank]);
  }
  const bool is_better = slowest * (1 + options_.gain) <= std::ranges::max(now);
  agreed_ = is_better ? agreed_ + 1 : 0;
  if (agreed_ < options_.agreeing) return false;
  resume(next);
  return true;
}

}  // namespace bp
