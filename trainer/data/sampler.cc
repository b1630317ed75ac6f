#include "trainer/data/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/permutation.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {
namespace {

void check_options(const SamplerOptions& options) {
  if (options.rows < 0 || options.ranks < 1 || options.batch < 1 || options.micro_batches < 1) {
    throw Error(ErrorCode::invalid_argument,
                concat("sampler: rows must be 0 or more, ranks, batch and micro_batches 1 or more, "
                       "but they are ",
                       options.rows, ", ", options.ranks, ", ", options.batch, " and ",
                       options.micro_batches));
  }
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(options) { check_options(options); }

std::int64_t Sampler::step_rows() const {
  return std::int64_t{options_.ranks} * options_.batch * options_.micro_batches;
}

std::int64_t Sampler::steps_per_epoch() const {
  return (options_.rows + step_rows() - 1) / step_rows();
}

EpochPosition Sampler::after(const EpochPosition& position) const {
  const std::int64_t used = position.used + step_rows();
  return used < options_.rows ? EpochPosition{position.epoch, used}
                              : EpochPosition{position.epoch + 1, 0};
}

std::int64_t Sampler::steps_until(double epochs, const EpochPosition& position) const {
  constexpr double kRounding = 1e-6;  // of a row: 0.1 * 30 is above 3
  const auto whole = static_cast<std::int64_t>(epochs);
  const auto part = static_cast<std::int64_t>(std::ceil(
      (epochs - static_cast<double>(whole)) * static_cast<double>(options_.rows) - kRounding));
  // Rounded up; towards 0 for rows beyond the end.
  const auto steps_of = [this](std::int64_t rows) {
    return rows > 0 ? (rows + step_rows() - 1) / step_rows() : rows / step_rows();
  };
  if (position.epoch == whole && part > 0) return steps_of(part - position.used);
  return (whole - position.epoch - 1) * steps_per_epoch() +
         steps_of(options_.rows - position.used) + steps_of(part);
}

std::vector<std::int64_t> Sampler::rows(const Place& place) const {
  const std::int64_t first = place.position.used;
  BP_CHECK(first >= 0 && first < options_.rows, "a step outside the epoch");
  BP_CHECK(place.rank >= 0 && place.rank < options_.ranks, "a rank outside the world");
  BP_CHECK(place.micro_batch >= 0 && place.micro_batch < options_.micro_batches,
           "a micro-batch outside the step");
  const std::int64_t count = std::min(step_rows(), options_.rows - first);
  const std::int64_t parts = std::int64_t{options_.ranks} * options_.micro_batches;
  const std::int64_t part = std::int64_t{place.rank} * options_.micro_batches + place.micro_batch;
  const Positions mine = part_of({.first = first, .count = count}, part, parts);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
    rows.push_back(permuted(i, options_.rows, options_.seed, place.position.epoch));
  }
  return rows;
}

}  // namespace bp::trainer
