// Placement over whole sweeps: how long they take, and what must hold at each moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/launcher/sweep/clock_simulation.h"

namespace bp::launcher::sweep {
namespace {

int time_of(const std::vector<int>& pool, const std::vector<SimulatedTrial>& trials) {
  return ClockSimulation(pool, trials).run();
}

TEST(SweepClock, PacksEighteenTrialsOfTwoSlots) {
  const std::vector<SimulatedTrial> trials(18, {.slots = 2, .seconds = 1000});
  EXPECT_EQ(time_of({2}, trials), 18000);
  EXPECT_EQ(time_of({4}, trials), 9000);
  EXPECT_EQ(time_of({12}, trials), 3000);
  EXPECT_EQ(time_of({2, 4, 6}, trials), 3000);
}

// docs/features.md, Searches: Mixed jobs in one pool | `blocks`
TEST(SweepClock, PacksTwoHundredSixteenTrialsOnUnevenHosts) {
  const std::vector<int> pool{64, 40, 30, 20, 14, 8, 4};
  ASSERT_EQ(std::accumulate(pool.begin(), pool.end(), 0), 180);
  EXPECT_EQ(time_of(pool, std::vector<SimulatedTrial>(216, {.slots = 2, .seconds = 1000})), 3000)
      << "90 at a time";
  EXPECT_EQ(time_of(pool, std::vector<SimulatedTrial>(216, {.slots = 1, .seconds = 1000})), 2000);
  // Mixed sizes that wait in a bad order: the slots' work is the bound.
  std::vector<SimulatedTrial> mixed;
  int work = 0;
  for (int i = 0; i < 216; ++i) {
    mixed.push_back({.slots = 1 + i % 4, .seconds = 1000});
    work += mixed.back().slots;
  }
  const int bound = (work + 179) / 180 * 1000;
  EXPECT_LE(time_of(pool, mixed), bound * 1.15);
}

struct RandomCase {
  std::vector<int> pool;
  std::vector<SimulatedTrial> trials;
};

// Pools of 1 to 6 hosts with 1 to 8 slots, and 1 to 40 trials. Half of the cases are a stream of
// small trials with a few large ones.
RandomCase random_case(std::mt19937& random) {
  const auto from = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  RandomCase made;
  const int hosts = from(1, 6);
  for (int i = 0; i < hosts; ++i) made.pool.push_back(from(1, 8));
  const int largest = *std::max_element(made.pool.begin(), made.pool.end());
  const int all = std::accumulate(made.pool.begin(), made.pool.end(), 0);
  const int trials = from(1, 40);
  const bool stream = from(0, 1) == 1;
  for (int i = 0; i < trials; ++i) {
    SimulatedTrial trial{.seconds = from(1, 5), .arrives = stream ? i / 3 : from(0, 9)};
    if (from(0, 3) == 0) {
      trial.spread = Spread::any;
      trial.slots = from(1, all);
    } else {
      trial.slots = stream && from(0, 5) > 0 ? 1 : from(1, largest);
    }
    made.trials.push_back(trial);
  }
  return made;
}

bool fits_now(const Demand& demand, const std::vector<HostSlots>& pool) {
  int sum = 0;
  for (const HostSlots& host : pool) {
    if (demand.spread == Spread::host && host.free >= demand.slots) return true;
    sum += host.free;
  }
  return demand.spread == Spread::any && sum >= demand.slots;
}

std::string text_of(const RandomCase& made) {
  std::string text = "pool";
  for (const int slots : made.pool) text += " " + std::to_string(slots);
  for (const SimulatedTrial& trial : made.trials) {
    text += "; " + std::to_string(trial.slots) +
            (trial.spread == Spread::any ? " any " : " host ") + std::to_string(trial.seconds) +
            " s at " + std::to_string(trial.arrives);
  }
  return text;
}

// What must hold after each call of starts(). Returns what does not.
std::string problem_now(const ClockSimulation& clock, const std::vector<Start>& started) {
  for (const Start& start : started) {
    const SimulatedTrial& trial = clock.trials()[static_cast<std::size_t>(start.trial)];
    int slots = 0;
    std::set<std::size_t> hosts;
    for (const Part& part : start.parts) {
      slots += part.slots;
      if (part.slots < 1 || !hosts.insert(part.host).second) return "a part is wrong";
    }
    if (slots != trial.slots) return "a trial has another number of slots";
    if (trial.spread == Spread::host && hosts.size() > 1) return "a trial is on several hosts";
  }
  int all = 0;
  for (const HostSlots& host : clock.pool()) {
    if (host.free < 0 || host.free > host.slots) return "a host has too many trials";
    all += host.slots;
  }
  // Only the longest-waiting trial that was overtaken often may keep others out.
  const auto reserver = std::find_if(clock.waiting().begin(), clock.waiting().end(),
                                     [&](const Demand& demand) { return demand.overtaken >= all; });
  for (const Demand& demand : clock.waiting()) {
    if (!fits_now(demand, clock.pool())) continue;
    if (reserver == clock.waiting().end() || demand.trial == reserver->trial) {
      return "a trial that fits waits";
    }
    if (reserver->spread == Spread::any) continue;
    for (const HostSlots& host : clock.pool()) {
      const bool idle = host.free == host.slots;
      if (idle && demand.spread == Spread::host && host.slots >= demand.slots) {
        return "a host is idle while a trial that fits it waits";
      }
    }
  }
  return "";
}

// Returns the trial with the reservation, -1 if there is none. All trials of the cases fit their
// pools.
int reserver_of(const ClockSimulation& clock) {
  int all = 0;
  for (const HostSlots& host : clock.pool()) all += host.slots;
  for (const Demand& demand : clock.waiting()) {
    if (demand.overtaken >= all) return demand.trial;
  }
  return -1;
}

// A trial may be overtaken by as many trials as the pool has slots. If it then has waited longest,
// it starts before each running trial could have ended: all take at most 5 s.
TEST(SweepClock, LeavesNoHostIdleAndNoTrialBehindInTenThousandCases) {
  std::mt19937 random(20240229);  // the standard fixes its numbers
  int reservations = 0;
  for (int i = 0; i < 10000; ++i) {
    const RandomCase made = random_case(random);
    ClockSimulation clock(made.pool, made.trials);
    std::string problem;
    int reserver = -1;
    int since = 0;
    clock.after_starts = [&](const std::vector<Start>& started) {
      if (problem.empty()) problem = problem_now(clock, started);
      if (const int other = reserver_of(clock); other != reserver) {
        reserver = other;
        since = clock.now();
        reservations += other >= 0 ? 1 : 0;
      }
      if (reserver >= 0 && clock.now() - since >= 5) problem = "a reservation lasts too long";
    };
    (void)clock.run();
    ASSERT_EQ(problem, "") << "case " << i << ": " << text_of(made);
    ASSERT_TRUE(clock.waiting().empty()) << "case " << i << ": " << text_of(made);
    ASSERT_EQ(std::count(clock.started_at().begin(), clock.started_at().end(), -1), 0) << i;
  }
  EXPECT_GT(reservations, 100) << "the cases must make reservations";
}

// An endless stream of small trials, which would keep every host partly full for ever.
TEST(SweepClock, StartsALargeTrialInAStreamOfSmallOnes) {
  for (const Spread spread : {Spread::host, Spread::any}) {
    std::vector<SimulatedTrial> trials;
    for (int i = 0; i < 4000; ++i) trials.push_back({.seconds = 2 + i % 3, .arrives = i / 4});
    const int large = 20;
    trials[large] = {
        .slots = spread == Spread::host ? 4 : 7, .spread = spread, .seconds = 3, .arrives = 5};
    ClockSimulation clock({4, 4}, trials);
    (void)clock.run();
    // It is overtaken by eight trials in at most 8 s, and then every other one ends within 4 s.
    EXPECT_LE(clock.started_at()[large], 5 + 8 + 4);
    EXPECT_GT(clock.started_at()[large], 5);
  }
}

}  // namespace
}  // namespace bp::launcher::sweep
