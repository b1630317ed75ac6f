#include "launcher/sweep/sampling/trial_sampler.h"

#include "launcher/sweep/sampling/draw.h"
#include "launcher/sweep/sampling/random.h"
#include "launcher/sweep/sampling/tpe.h"

namespace bp::launcher::sweep {

TrialSampler::TrialSampler(const Space& space, int block, Direction direction)
    : block_(space.blocks.at(static_cast<std::size_t>(block))),
      number_(block),
      direction_(direction),
      choices_(block_.trials) {
  if (block_.sampler != SamplerKind::grid) return;
  grid_ = grid_of(block_);
  choices_ = static_cast<int>(grid_.size());
}

std::optional<TrialPlan> TrialSampler::next(int index,
                                            std::span<const TrialHistory> history) const {
  if (index < 0 || index >= trials()) return std::nullopt;
  TrialPlan plan{.block = number_, .index = index, .repeat = index % block_.repeat};
  plan.parameters = parameters(index / block_.repeat, history);
  if (block_.repeat > 1) {
    const auto seed = block_.seed + static_cast<std::uint64_t>(plan.repeat);
    plan.parameters.emplace_back(block_.repeat_option,
                                 Value::of_integer(static_cast<std::int64_t>(seed)));
  }
  return plan;
}

Parameters TrialSampler::parameters(int choice, std::span<const TrialHistory> history) const {
  if (block_.sampler == SamplerKind::grid) return grid_[static_cast<std::size_t>(choice)];
  Random random(block_.seed, static_cast<std::uint64_t>(number_),
                static_cast<std::uint64_t>(choice));
  if (!learns()) return random_parameters(block_, random);
  for (const TrialHistory& trial : history) {
    if (trial.index / block_.repeat != choice) continue;
    Parameters earlier = trial.parameters;  // of a repeat of this choice
    if (block_.repeat > 1) earlier.pop_back();
    return earlier;
  }
  return tpe_parameters(block_, direction_, history, random);
}

}  // namespace bp::launcher::sweep
