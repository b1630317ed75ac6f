// The hierarchical all-reduce on hosts of any sizes, in several orders of delivery.
#include "comm/schedule/hierarchy.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <numeric>

#include "base/text.h"
#include "comm/schedule/recursive_doubling.h"
#include "comm/schedule/ring.h"
#include "tests/unit/schedule_simulator.h"

namespace bp {
namespace {

using Use = SimulatedTransfer::Use;
constexpr int kAny = std::numeric_limits<int>::max();

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Adds a ring among this host's ranks. A cell is a share, and only the first ranks have one.
void add_inside(Program& program, const Hierarchy& hierarchy, bool reduce) {
  const std::vector<int> host = hierarchy.host_ranks();
  const Ring ring(hierarchy.local_rank(), hierarchy.local_size());
  const auto peer = [&](int local) { return host[at(local)]; };
  for (int k = 0; k < hierarchy.local_size() - 1; ++k) {
    const RingStep step = reduce ? ring.reduce_scatter_step(k) : ring.all_gather_step(k);
    SimulatedStep& out = program.emplace_back();
    if (step.send_block < hierarchy.rails()) {
      out.sends.push_back({peer(ring.next()), step.send_block});
    }
    if (step.receive_block < hierarchy.rails()) {
      out.receives.push_back(
          {peer(ring.previous()), step.receive_block, reduce ? Use::upper : Use::replace});
    }
  }
}

void add_between(Program& program, const Hierarchy& hierarchy) {
  if (hierarchy.share() < 0) return;
  const std::vector<int> rail = hierarchy.rail_ranks();
  const auto own = std::ranges::find(rail, hierarchy.host_ranks()[at(hierarchy.local_rank())]);
  const RecursiveDoubling schedule(static_cast<int>(own - rail.begin()),
                                   static_cast<int>(rail.size()));
  for (int k = 0; k < schedule.steps(); ++k) {
    const DoublingStep step = schedule.step(k);
    SimulatedStep& out = program.emplace_back();
    if (step.peer < 0) continue;
    const int peer = rail[at(step.peer)];
    if (step.send) out.sends.push_back({peer, hierarchy.share()});
    if (step.received == ReceiveAction::none) continue;
    const Use use = step.received == ReceiveAction::replace       ? Use::replace
                    : step.received == ReceiveAction::reduce_left ? Use::lower
                                                                  : Use::upper;
    out.receives.push_back({peer, hierarchy.share(), use});
  }
}

// Returns the first error, or "".
std::string check(const std::vector<int>& hosts, int most, std::uint64_t seed) {
  const int ranks = std::accumulate(hosts.begin(), hosts.end(), 0);
  const int rails = Hierarchy(0, hosts, most).rails();
  std::vector<Program> programs(at(ranks));
  std::vector<Memory> memory;
  for (int r = 0; r < ranks; ++r) {
    const Hierarchy hierarchy(r, hosts, most);
    add_inside(programs[at(r)], hierarchy, true);
    add_between(programs[at(r)], hierarchy);
    add_inside(programs[at(r)], hierarchy, false);
    memory.push_back(own_data(r, ranks, rails));
  }
  if (std::string wrong = simulate(programs, memory, seed); !wrong.empty()) return wrong;
  for (int r = 0; r < ranks; ++r) {
    if (memory[at(r)] != memory[0]) return concat("rank ", r, " has another result");
  }
  for (const Cell& cell : memory[0]) {
    if (cell.times != std::vector<int>(at(ranks), 1)) return "a share is not of each rank once";
  }
  return "";
}

TEST(Hierarchy, ReducesEachRankOnceForEverySize) {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    EXPECT_EQ(check({ranks}, kAny, 1), "");
    EXPECT_EQ(check(std::vector<int>(at(ranks), 1), kAny, 1), "");
    for (const int first : {1, ranks / 3, ranks / 2, ranks - 1}) {
      if (first < 1 || first >= ranks) continue;
      EXPECT_EQ(check({first, ranks - first}, kAny, 2), "") << first << " of " << ranks;
      EXPECT_EQ(check({first, ranks - first}, 1, 3), "") << first << " of " << ranks;
    }
  }
}

TEST(Hierarchy, ReducesEachRankOnceOnAnyHosts) {
  EXPECT_TRUE(rc::check("uneven hosts", [] {
    const auto hosts = *rc::gen::suchThat(
        rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 13)), [](const auto& sizes) {
          return !sizes.empty() && std::accumulate(sizes.begin(), sizes.end(), 0) <= 64;
        });
    const int most = *rc::gen::element(1, 2, kAny);
    RC_ASSERT(check(hosts, most, *rc::gen::arbitrary<std::uint64_t>()) == "");
  }));
}

TEST(Hierarchy, RailsAreRanksOfOneNumberOnEveryHost) {
  const std::vector<int> hosts = {3, 2, 4};
  const Hierarchy third_of_last(7, hosts, kAny);
  EXPECT_EQ(third_of_last.rails(), 2);
  EXPECT_EQ(third_of_last.share(), -1);
  EXPECT_EQ(third_of_last.host_ranks(), (std::vector{5, 6, 7, 8}));
  EXPECT_TRUE(third_of_last.rail_ranks().empty());
  const Hierarchy second(4, hosts, kAny);
  EXPECT_EQ(second.share(), 1);
  EXPECT_EQ(second.rail_ranks(), (std::vector{1, 4, 6}));
  EXPECT_EQ(Hierarchy(4, hosts, 1).share(), -1);
}

}  // namespace
}  // namespace bp
