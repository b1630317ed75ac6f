#include "launcher/sweep/driver/proposals.h"

#include <algorithm>

namespace bp::launcher::sweep {

Proposals::Proposals(const SweepSettings& settings) : given_(settings.space.blocks.size()) {
  for (std::size_t block = 0; block < settings.space.blocks.size(); ++block) {
    samplers_.emplace_back(settings.space, static_cast<int>(block), direction_of(settings));
    all_ += samplers_.back().trials();
  }
  all_ = std::min(all_, settings.max_trials.value_or(all_));
}

void Proposals::add(int block) {
  ++given_.at(static_cast<std::size_t>(block));
  ++all_given_;
}

std::optional<int> Proposals::next_block() const {
  std::optional<int> next;
  double least = 1;
  for (std::size_t block = 0; block < samplers_.size() && all_given_ < all_; ++block) {
    const double share = static_cast<double>(given_[block]) / samplers_[block].trials();
    if (share < least) {
      least = share;
      next = static_cast<int>(block);
    }
  }
  return next;
}

bool Proposals::learns() const {
  const auto block = next_block();
  return block && samplers_[static_cast<std::size_t>(*block)].learns();
}

std::optional<TrialPlan> Proposals::next(
    const std::function<std::span<const TrialHistory>(int block)>& history) const {
  const auto block = next_block();
  if (!block) {
    return std::nullopt;
  }
  const auto i = static_cast<std::size_t>(*block);
  const TrialSampler& sampler = samplers_[i];
  auto plan =
      sampler.next(given_[i], sampler.learns() ? history(*block) : std::span<const TrialHistory>());
  if (plan) {
    plan->block = *block;
  }
  return plan;
}

}  // namespace bp::launcher::sweep
