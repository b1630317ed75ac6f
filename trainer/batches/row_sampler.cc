#include "trainer/batches/row_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "base/check.h"
#include "base/divide_rows.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/batches/token_batches.h"

namespace bp::trainer {
namespace {

void check_options(const RowSamplerOptions& options) {
  if (options.rows < 0 || options.ranks < 1 || options.batch < 1 ||
      options.micro_batches.least() < 1) {
    throw Error(ErrorCode::invalid_argument,
                concat("sampler: rows must be 0 or more, ranks, batch and micro_batches 1 or more, "
                       "but they are ",
                       options.rows, ", ", options.ranks, ", ", options.batch, " and ",
                       options.micro_batches.least()));
  }
  if (options.max_tokens == 0 && options.curriculum <= 0 && options.group == 0 &&
      !options.balanced) {
    return;
  }
  if (options.lengths == nullptr || std::ssize(*options.lengths) < options.rows) {
    throw Error(ErrorCode::invalid_argument,
                "sampler: max_tokens, a curriculum, groups and balanced steps need the length of "
                "each row");
  }
  if (options.max_tokens == 0) return;
  for (std::int64_t row = 0; row < options.rows; ++row) {
    const std::int32_t length = (*options.lengths)[static_cast<std::size_t>(row)];
    if (length <= options.max_tokens) continue;
    throw Error(ErrorCode::invalid_argument,
                concat("sampler: row ", row, " has ", length, " tokens, and a micro-batch at most ",
                       options.max_tokens));
  }
}

std::vector<Positions> even_parts(const Positions& all, std::int64_t count) {
  std::vector<Positions> parts;
  for (std::int64_t part = 0; part < count; ++part) parts.push_back(part_of(all, part, count));
  return parts;
}

// Returns the parts that follow each other from `first` on. `ends`: counted from there.
std::vector<Positions> parts_until(std::int64_t first, const std::vector<std::int64_t>& ends) {
  std::vector<Positions> parts;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    parts.push_back({.first = first + begin, .count = end - begin});
    begin = end;
  }
  return parts;
}

}  // namespace

RowSampler::RowSampler(const RowSamplerOptions& options)
    : options_(options),
      order_({options.rows, options.seed, options.curriculum, options.group, options.lengths}) {
  check_options(options);
}

std::int64_t RowSampler::parts(std::int64_t epoch) const {
  return std::int64_t{options_.ranks} * micro_batches(epoch);
}

std::int64_t RowSampler::step_rows(std::int64_t epoch) const {
  BP_CHECK(options_.max_tokens == 0, "the rows of a step vary");
  return options_.total > 0 ? options_.total : parts(epoch) * options_.batch;
}

std::int64_t RowSampler::steps_per_epoch(std::int64_t epoch) const {
  if (options_.max_tokens == 0) return steps_in({epoch, 0}, options_.rows);
  const auto known = counted_.find(epoch);
  if (known != counted_.end()) return known->second;
  return counted_[epoch] = steps_in({epoch, 0}, options_.rows);
}

std::int64_t RowSampler::length(std::int64_t epoch, std::int64_t position) const {
  return (*options_.lengths)[static_cast<std::size_t>(order_.row(epoch, position))];
}

std::int64_t RowSampler::rows_of_step(const EpochPosition& position) const {
  const std::int64_t left = options_.rows - position.used;
  if (options_.max_tokens == 0) return std::min(step_rows(position.epoch), left);
  return samples_of_step({options_.max_tokens, parts(position.epoch)}, left,
                         [&](std::int64_t i) { return length(position.epoch, position.used + i); });
}

EpochPosition RowSampler::after(const EpochPosition& position) const {
  const std::int64_t used = position.used + rows_of_step(position);
  return used < options_.rows ? EpochPosition{position.epoch, used}
                              : EpochPosition{position.epoch + 1, 0};
}

// Returns the number of steps, one of which uses the last row before `to`.
std::int64_t RowSampler::steps_in(const EpochPosition& from, std::int64_t to) const {
  if (options_.max_tokens == 0) {
    const std::int64_t rows = step_rows(from.epoch);
    return (std::max<std::int64_t>(to - from.used, 0) + rows - 1) / rows;
  }
  std::int64_t steps = 0;
  for (EpochPosition at = from; at.used < to; ++steps) at.used += rows_of_step(at);
  return steps;
}

// Returns the number of steps that surely lie between the two.
std::int64_t RowSampler::whole_steps_in(const EpochPosition& from, std::int64_t to) const {
  if (options_.max_tokens == 0) return (to - from.used) / step_rows(from.epoch);
  return std::max<std::int64_t>(steps_in(from, to) - 1, 0);
}

std::int64_t RowSampler::steps_until(double epochs, const EpochPosition& position) const {
  constexpr double kRounding = 1e-6;  // of a row: 0.1 * 30 is above 3
  const auto whole = static_cast<std::int64_t>(epochs);
  const auto part = static_cast<std::int64_t>(std::ceil(
      (epochs - static_cast<double>(whole)) * static_cast<double>(options_.rows) - kRounding));
  const EpochPosition end{whole, std::max<std::int64_t>(part, 0)};
  const bool beyond = end < position;
  const EpochPosition& first = beyond ? end : position;
  const EpochPosition& last = beyond ? position : end;
  const auto count = [&](const EpochPosition& from, std::int64_t to) {
    return beyond ? whole_steps_in(from, to) : steps_in(from, to);
  };
  std::int64_t steps = 0;
  if (first.epoch == last.epoch) {
    steps = count(first, last.used);
  } else {
    steps = count(first, options_.rows) + count({last.epoch, 0}, last.used);
    for (std::int64_t e = first.epoch + 1; e < last.epoch; ++e) steps += steps_per_epoch(e);
  }
  return beyond ? -steps : steps;
}

double RowSampler::steps_before(const EpochPosition& position) const {
  std::int64_t steps = 0;
  for (std::int64_t epoch = 0; epoch < position.epoch; ++epoch) steps += steps_per_epoch(epoch);
  const auto used = static_cast<double>(position.used);
  const double of_epoch = options_.max_tokens == 0
                              ? used / static_cast<double>(step_rows(position.epoch))
                              : used / static_cast<double>(options_.rows) *
                                    static_cast<double>(steps_per_epoch(position.epoch));
  return static_cast<double>(steps) + of_epoch;
}

std::vector<std::int64_t> RowSampler::lengths_of(std::int64_t epoch,
                                                 const Positions& positions) const {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < positions.count; ++i) {
    lengths.push_back(length(epoch, positions.first + i));
  }
  return lengths;
}

std::vector<Positions> RowSampler::divided(const EpochPosition& position) const {
  BP_CHECK(position.used >= 0 && position.used < options_.rows, "a step outside the epoch");
  const Positions all{.first = position.used, .count = rows_of_step(position)};
  const std::int64_t count = parts(position.epoch);
  if (options_.max_tokens == 0) return even_parts(all, count);
  return parts_until(all.first,
                     balanced_parts({options_.max_tokens, count}, lengths_of(position.epoch, all)));
}

std::vector<std::vector<std::int64_t>> RowSampler::step(const EpochPosition& position) const {
  return rows_of(position, divided(position), false);
}

// Returns the rows of the step that each rank has.
std::vector<Positions> RowSampler::divided_by(std::span<const std::int64_t> shares,
                                              const EpochPosition& position) const {
  const std::vector<double> weights(shares.begin(), shares.end());
  const Positions all{.first = position.used, .count = rows_of_step(position)};
  if (options_.max_tokens > 0) {
    return parts_until(all.first, weighted_parts(weights, lengths_of(position.epoch, all)));
  }
  std::vector<std::int64_t> ends = divide_rows(all.count, weights);
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  return parts_until(all.first, ends);
}

std::vector<Positions> RowSampler::micro_batches_of(std::int64_t epoch,
                                                    const Positions& own) const {
  if (options_.max_tokens > 0) {
    return parts_until(own.first, balanced_parts({options_.max_tokens, 0}, lengths_of(epoch, own)));
  }
  return even_parts(own,
                    std::max<std::int64_t>(1, (own.count + options_.batch - 1) / options_.batch));
}

std::vector<RowSampler::MicroBatches> RowSampler::step_by_rank(
    const EpochPosition& position, std::span<const std::int64_t> shares) const {
  std::vector<std::size_t> counts(static_cast<std::size_t>(options_.ranks),
                                  static_cast<std::size_t>(micro_batches(position.epoch)));
  std::vector<Positions> parts;
  if (!shares.empty()) {
    counts.clear();
    for (const Positions& own : divided_by(shares, position)) {
      const std::vector<Positions> more = micro_batches_of(position.epoch, own);
      parts.insert(parts.end(), more.begin(), more.end());
      counts.push_back(more.size());
    }
  }
  MicroBatches all = shares.empty() ? step(position) : rows_of(position, parts, true);
  std::vector<MicroBatches> by_rank;
  auto next = std::make_move_iterator(all.begin());
  for (const std::size_t count : counts) {
    by_rank.emplace_back(next, next + static_cast<std::ptrdiff_t>(count));
    next += static_cast<std::ptrdiff_t>(count);
  }
  return by_rank;
}

std::vector<std::vector<std::int64_t>> RowSampler::rows_of(const EpochPosition& position,
                                                           const std::vector<Positions>& parts,
                                                           bool by_share) const {
  std::vector<std::vector<std::int64_t>> all;
  for (const Positions& part : parts) {
    std::vector<std::int64_t>& rows = all.emplace_back();
    for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
      rows.push_back(order_.row(position.epoch, i));
    }
  }
  return options_.balanced && options_.max_tokens == 0 ? balanced(all, by_share) : all;
}

// Exchanges rows between the micro-batches of a step.
std::vector<std::vector<std::int64_t>> RowSampler::balanced(
    const std::vector<std::vector<std::int64_t>>& parts, bool by_share) const {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> counts;
  for (const std::vector<std::int64_t>& part : parts) {
    counts.push_back(std::ssize(part));
    for (const std::int64_t row : part) {
      rows.push_back(row);
      lengths.push_back((*options_.lengths)[static_cast<std::size_t>(row)]);
    }
  }
  std::vector<std::vector<std::int64_t>> dealt = deal_by_tokens(counts, lengths, by_share);
  for (std::vector<std::int64_t>& part : dealt) {
    for (std::int64_t& row : part) row = rows[static_cast<std::size_t>(row)];
  }
  return dealt;
}

std::vector<std::int64_t> RowSampler::rows(const Place& place) const {
  const int micro_batches = this->micro_batches(place.position.epoch);
  BP_CHECK(place.rank >= 0 && place.rank < options_.ranks, "a rank outside the world");
  BP_CHECK(place.micro_batch >= 0 && place.micro_batch < micro_batches,
           "a micro-batch outside the step");
  const std::int64_t part = std::int64_t{place.rank} * micro_batches + place.micro_batch;
  return step(place.position)[static_cast<std::size_t>(part)];
}

}  // namespace bp::trainer
