#include "comm/torch/window_totals.h"

#include <algorithm>
#include <array>
#include <bit>

namespace bp {
namespace {

using Parts = std::array<std::int16_t, WindowTotals::kPartsOfANumber>;

template <class Number>
float* write_parts(Number number, float* to) {
  return std::ranges::copy(std::bit_cast<Parts>(number), to).out;
}

template <class Number>
Number read_parts(std::span<const double> from) {
  Parts parts{};
  std::ranges::transform(from.first(parts.size()), parts.begin(),
                         [](double part) { return static_cast<std::int16_t>(part); });
  return std::bit_cast<Number>(parts);
}

constexpr int kStops = 1;
constexpr int kHasLateGradients = 2;
constexpr int kIsFromBackward = 4;
constexpr int kTakesPart = 8;
constexpr int kSplit = 16;  // the unit of what stands above the flags

}  // namespace

WindowTotals::WindowTotals(int ranks, std::size_t parameters)
    : ranks_(static_cast<std::size_t>(ranks)), parameters_(parameters) {}

std::vector<float> WindowTotals::written(int rank,
                                         const RankTotals& totals,
                                         const std::vector<bool>& lacks) const {
  std::vector<float> elements(this->elements(), 0);
  std::ranges::copy(lacks, elements.begin());
  float* next = elements.data() + begin_of(rank);
  next = write_parts(totals.weight, next);
  next = write_parts(totals.weighted_loss, next);
  next = write_parts(totals.fingerprint, next);
  next = write_parts(totals.seconds, next);
  *next = static_cast<float>(totals.split * kSplit | kTakesPart | (totals.stops ? kStops : 0) |
                             (totals.has_late_gradients ? kHasLateGradients : 0) |
                             (totals.is_from_backward ? kIsFromBackward : 0));
  return elements;
}

std::vector<RankTotals> WindowTotals::of_ranks(std::span<const double> sums) const {
  std::vector<RankTotals> all;
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const auto of_rank = sums.subspan(begin_of(static_cast<int>(rank)), kPartsOfARank);
    const int flags = static_cast<int>(of_rank.back());
    if ((flags & kTakesPart) == 0) continue;
    all.push_back({.weight = read_parts<double>(of_rank),
                   .weighted_loss = read_parts<double>(of_rank.subspan(kPartsOfANumber)),
                   .seconds = read_parts<double>(of_rank.subspan(3 * kPartsOfANumber)),
                   .fingerprint = read_parts<std::uint64_t>(of_rank.subspan(2 * kPartsOfANumber)),
                   .stops = (flags & kStops) != 0,
                   .has_late_gradients = (flags & kHasLateGradients) != 0,
                   .is_from_backward = (flags & kIsFromBackward) != 0,
                   .split = flags / kSplit});
  }
  return all;
}

std::vector<bool> WindowTotals::lacking_everywhere(std::span<const double> sums) const {
  const auto all = static_cast<double>(of_ranks(sums).size());
  std::vector<bool> lacking;
  for (const double ranks : sums.first(parameters_)) lacking.push_back(ranks == all);
  return lacking;
}

}  // namespace bp
