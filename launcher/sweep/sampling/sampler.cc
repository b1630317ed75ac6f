#include "launcher/sweep/sampling/sampler.h"

#include <utility>
#include <vector>

#include "launcher/sweep/sampling/draw.h"
#include "launcher/sweep/sampling/grid.h"
#include "launcher/sweep/sampling/random.h"
#include "launcher/sweep/sampling/tpe.h"

namespace bp::launcher::sweep {
namespace {

// Repeats, and what all samplers share. A choice is a combination of parameters.
class RepeatingSampler : public Sampler {
 public:
  RepeatingSampler(const Block& block, int number, int choices)
      : block_(block), number_(number), choices_(choices) {}

  int trials() const override { return choices_ * block_.repeat; }

  std::optional<TrialPlan> next(int index, std::span<const TrialHistory> history) const override {
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

 protected:
  [[nodiscard]] const Block& block() const { return block_; }
  [[nodiscard]] Random random_of(int choice) const {
    return {block_.seed, static_cast<std::uint64_t>(number_), static_cast<std::uint64_t>(choice)};
  }

 private:
  [[nodiscard]] virtual Parameters parameters(int choice,
                                              std::span<const TrialHistory> history) const = 0;

  const Block& block_;
  int number_;
  int choices_;
};

class GridSampler : public RepeatingSampler {
 public:
  GridSampler(const Block& block, int number, std::vector<Parameters> grid)
      : RepeatingSampler(block, number, static_cast<int>(grid.size())), grid_(std::move(grid)) {}

 private:
  Parameters parameters(int choice, std::span<const TrialHistory> /*history*/) const override {
    return grid_[static_cast<std::size_t>(choice)];
  }

  std::vector<Parameters> grid_;
};

class RandomSampler : public RepeatingSampler {
 public:
  RandomSampler(const Block& block, int number) : RepeatingSampler(block, number, block.trials) {}

 private:
  Parameters parameters(int choice, std::span<const TrialHistory> /*history*/) const override {
    Random random = random_of(choice);
    return random_parameters(block(), random);
  }
};

class TpeSampler : public RepeatingSampler {
 public:
  TpeSampler(const Block& block, int number, Direction direction)
      : RepeatingSampler(block, number, block.trials), direction_(direction) {}

  bool learns() const override { return true; }

 private:
  Parameters parameters(int choice, std::span<const TrialHistory> history) const override {
    for (const TrialHistory& trial : history) {  // an earlier repeat
      if (trial.index / block().repeat == choice) return without_seed(trial.parameters);
    }
    Random random = random_of(choice);
    return tpe_parameters(block(), direction_, history, random);
  }

  [[nodiscard]] Parameters without_seed(Parameters parameters) const {
    if (block().repeat > 1) parameters.pop_back();
    return parameters;
  }

  Direction direction_;
};

}  // namespace

std::unique_ptr<Sampler> make_sampler(const Space& space, int number, Direction direction) {
  const Block& block = space.blocks.at(static_cast<std::size_t>(number));
  if (block.sampler == SamplerKind::grid) {
    return std::make_unique<GridSampler>(block, number, grid_of(block));
  }
  if (block.sampler == SamplerKind::tpe) {
    return std::make_unique<TpeSampler>(block, number, direction);
  }
  return std::make_unique<RandomSampler>(block, number);
}

}  // namespace bp::launcher::sweep
