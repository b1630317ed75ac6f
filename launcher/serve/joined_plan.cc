#include "launcher/serve/joined_plan.h"

#include <utility>
#include <vector>

#include "launcher/plan/give_gpus.h"
#include "launcher/process/program.h"

namespace bp::launcher {
namespace {

// `hosts` has the candidate of each host of the plan; null for this machine, whose GPUs bprun asks
// for by an agent as in any job.
void give_joined_gpus(const Options& options,
                      const std::vector<JoinCandidate*>& hosts,
                      JobPlan& plan) {
  std::vector<GpuWish> wishes;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    Host& host = plan.placement[i].host;
    if (hosts[i] != nullptr && hosts[i]->gpus) {
      wishes.push_back({.host = &host,
                        .gpus = hosts[i]->gpu_request,
                        .machine = hosts[i]->hello.machine,
                        .available = *hosts[i]->gpus});
    } else if (hosts[i] == nullptr && !options.gpus.empty()) {
      for (GpuWish& wish : ask_for_gpus({&host, 1}, {plan.hosts[i]}, options)) {
        wishes.push_back(std::move(wish));
      }
    }
  }
  plan.notes = give_gpus(wishes, options.share_gpus);
  if (!options.share_gpus) check_one_rank_a_gpu(plan.placement);
}

AgentStart start_of(bool own) {
  const std::string self = own_program();
  return {.local = own,
          .bprun = self,
          .command = own ? std::vector<std::string>{self, "--agent"} : std::vector<std::string>{},
          .joined = !own};
}

}  // namespace

std::vector<SlotOffer> offers_of(const SlotOffer& own, const std::list<JoinCandidate>& candidates) {
  std::vector<SlotOffer> offers = {own};
  for (const JoinCandidate& candidate : candidates) {
    if (candidate.offer) offers.push_back(*candidate.offer);
  }
  return offers;
}

JoinResult make_joined_plan(const Options& options,
                            const SlotOffer& own,
                            std::list<JoinCandidate>& candidates) {
  const auto offers = offers_of(own, candidates);
  std::vector<JoinCandidate*> joined = {nullptr};  // as in `offers`
  for (JoinCandidate& candidate : candidates) {
    if (candidate.offer) joined.push_back(&candidate);
  }
  JoinResult result;
  result.plan.program = options.program.front();
  std::vector<JoinCandidate*> hosts;  // of the plan
  for (const RankAssignment& assignment : assign_ranks(offers, slots_of(offers))) {
    const SlotOffer& offer = offers[assignment.offer];
    Host host;
    host.name = offer.host;
    host.slots = offer.slots;
    result.plan.placement.push_back(
        {.host = std::move(host), .first_rank = assignment.first_rank, .ranks = offer.slots});
    hosts.push_back(joined[assignment.offer]);
    result.plan.hosts.push_back(start_of(hosts.back() == nullptr));
  }
  give_joined_gpus(options, hosts, result.plan);
  for (JoinCandidate* candidate : hosts) {
    result.machines.machines.push_back(
        candidate == nullptr ? JoinedMachine{}
                             : JoinedMachine{std::move(candidate->channel), candidate->hello});
  }
  return result;
}

}  // namespace bp::launcher
