// Communicator::recover(): the ranks that survive the failure of a world make another one.
#include <algorithm>
#include <vector>

#include "base/text.h"
#include "bp/environment.h"
#include "comm/engine/api/connect_world.h"
#include "comm/engine/api/impl.h"

namespace bp {
namespace {

// Returns a plan for the survivors of `world`. `survivors` has the launcher's numbers.
WorldPlan plan_of(const Engine& engine, const Topology& world, const std::vector<int>& survivors) {
  WorldPlan plan;
  std::vector<int> members;
  for (int rank = 0; rank < world.size(); ++rank) {
    const int number = engine.launcher_rank(rank);
    if (std::ranges::find(survivors, number) == survivors.end()) continue;
    members.push_back(rank);
    plan.launcher_ranks.push_back(number);
  }
  plan.topology = topology_of_group(world, members);
  return plan;
}

}  // namespace

Communicator Communicator::recover() {
  impl().refuse_in_child("recover");
  Engine& engine = impl().engine();
  const std::shared_ptr<Store> store = engine.give_up_store();
  const Environment environment = Environment::current();
  if (!environment.store) {
    throw Error(ErrorCode::invalid_argument,
                concat("recover() under the launcher ", environment.launcher,
                       ": only bprun --on-failure continue lets the other ranks continue"));
  }
  const CommunicatorOptions& options = impl().options();
  const Deadline deadline(options.start_timeout);
  const ListenOn listen = listen_on(options.interface, *environment.store, deadline);
  for (;;) {
    const Survivors left = store->join_survivors();
    WorldPlan plan = plan_of(engine, impl().topology(), left.ranks);
    plan.name = concat("world@", left.generation);
    plan.options = options;
    if (!can_run(options.algorithm, plan.topology.local_sizes)) plan.options.algorithm = "auto";
    plan.measured = engine.setup().measured;
    plan.listen = listen;
    plan.key = environment.key;
    plan.trace = engine.setup().trace;
    try {
      Communicator world = connect_world(plan, store);
      engine.set_has_successor();
      return world;
    } catch (const Error&) {
      // Most likely another rank was lost meanwhile. Then the remaining ranks try again.
      if (!store->job_failure() || deadline.passed()) throw;
    }
  }
}

}  // namespace bp
