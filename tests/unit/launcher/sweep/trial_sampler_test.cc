#include "launcher/sweep/sampling/trial_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "launcher/sweep/space/space.h"

namespace bp::launcher::sweep {
namespace {

using testing::ElementsAre;

Space space_of(const std::string& text) { return parse_space(text, "s.yaml"); }

std::vector<std::string> plans_of(const Space& space) {
  const TrialSampler sampler(space, 0, Direction::min);
  std::vector<std::string> plans;
  while (const auto plan = sampler.next(static_cast<int>(plans.size()), {})) {
    EXPECT_EQ(plan->index, static_cast<int>(plans.size()));
    plans.push_back(shown(plan->parameters));
  }
  EXPECT_EQ(sampler.trials(), static_cast<int>(plans.size()));
  return plans;
}

// docs/features.md, Searches: Ranges and their product | `bprun sweep` with lists, `range` and
// `int`
// docs/features.md, Searches: Parameters that vary together, or only in some trials | `zip`, `when`
TEST(SweepGrid, IsTheProductInTheOrderOfTheFile) {
  EXPECT_THAT(
      plans_of(space_of("parameters: {a: [1, 2], b: [x, y]}\nzip: [{c: [3, 4], d: [5, 6]}]")),
      ElementsAre("a=1 b=x c=3 d=5", "a=1 b=x c=4 d=6", "a=1 b=y c=3 d=5", "a=1 b=y c=4 d=6",
                  "a=2 b=x c=3 d=5", "a=2 b=x c=4 d=6", "a=2 b=y c=3 d=5", "a=2 b=y c=4 d=6"));
  EXPECT_EQ(
      plans_of(space_of("parameters: {a: [1, 2], b: {range: [1, 3, 1]}, c: {int: [0, 2]}}")).size(),
      18U);
}

TEST(SweepGrid, TriesAnExcludedParameterOnce) {
  EXPECT_THAT(plans_of(space_of("parameters: {s: [linear, poly], power: [1, 2]}\n"
                                "when: {power: {s: poly}}")),
              ElementsAre("s=linear", "s=poly power=1", "s=poly power=2"));
  EXPECT_THAT(plans_of(space_of("parameters: {c: [1, 2], a: [x, y], b: [1, 2]}\n"
                                "when: {c: {b: 2}, b: {a: y}}")),
              ElementsAre("a=x", "a=y b=1", "c=1 a=y b=2", "c=2 a=y b=2"))
      << "a condition on an excluded parameter does not hold";
}

TEST(SweepGrid, RepeatsWithOtherSeeds) {
  EXPECT_THAT(plans_of(space_of("repeat: 2\nseed: 5\nparameters: {a: [1, 2]}")),
              ElementsAre("a=1 seed=5", "a=1 seed=6", "a=2 seed=5", "a=2 seed=6"));
  EXPECT_THAT(plans_of(space_of("blocks: [{program: x, repeat: {s: 2}}]")),
              ElementsAre("s=1", "s=2"))
      << "a program without parameters is one trial";
}

TEST(SweepRandom, DependsOnSeedAndIndexOnly) {
  const std::string text =
      "sampler: random\ntrials: 50\nparameters: {x: {uniform: [0, 1]}}\nseed: ";
  const auto plans = plans_of(space_of(text + "1"));
  EXPECT_EQ(plans, plans_of(space_of(text + "1")));
  EXPECT_NE(plans, plans_of(space_of(text + "2")));
  EXPECT_EQ(std::set(plans.begin(), plans.end()).size(), 50U);
  const Space space = space_of(text + "1");
  EXPECT_EQ(shown(TrialSampler(space, 0, Direction::min).next(37, {})->parameters), plans[37]);
}

// docs/features.md, Searches: Random search | `sampler: random`, and `tpe`, which learns from
// earlier trials
TEST(SweepRandom, DrawsFromEachDistribution) {
  const Space space = space_of(
      "sampler: random\ntrials: 4000\nparameters: {u: {uniform: [-1, 3]}, "
      "l: {loguniform: [1e-5, 1e-1]}, i: {int: [1, 4]}, r: {range: [0, 1, 0.5]}, c: [p, q]}");
  const TrialSampler sampler(space, 0, Direction::min);
  double sum = 0;
  int below = 0;  // of l: half of its logarithms
  std::map<std::string, int> count;
  for (int index = 0; index < 4000; ++index) {
    const Parameters drawn = sampler.next(index, {})->parameters;
    const double u = find_value(drawn, "u")->number();
    const double l = find_value(drawn, "l")->number();
    ASSERT_TRUE(u >= -1 && u <= 3 && l >= 1e-5 && l <= 1e-1) << shown(drawn);
    sum += u;
    below += l < 1e-3 ? 1 : 0;
    for (const char* name : {"i", "r", "c"}) ++count[find_value(drawn, name)->text()];
  }
  // Five standard deviations.
  EXPECT_NEAR(sum / 4000, 1.0, 5 * 4 / std::sqrt(12.0 * 4000));
  EXPECT_NEAR(below, 2000, 5 * std::sqrt(1000));
  for (const char* value : {"2", "3", "4"}) EXPECT_NEAR(count[value], 1000, 5 * std::sqrt(750));
  for (const char* value : {"0", "0.5"}) EXPECT_NEAR(count[value], 1333, 5 * std::sqrt(889));
  EXPECT_NEAR(count["1"], 1000 + 1333, 5 * std::sqrt(1639)) << "of i and of r";
  EXPECT_NEAR(count["p"], 2000, 5 * std::sqrt(1000));
}

}  // namespace
}  // namespace bp::launcher::sweep
