// What JoinServer makes of the machines that are there: a plan, or only its outlook.
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/agent/listen.h"
#include "launcher/plan/give_gpus.h"
#include "launcher/process/program.h"
#include "launcher/process/shell_words.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"
#include "launcher/serve/join_server.h"

namespace bp::launcher {

JoinResult JoinServer::gathered() {
  const auto all = offers();
  std::vector<JoinCandidate*> there = {nullptr};  // this machine, as in offers()
  for (JoinCandidate& candidate : candidates_) {
    if (candidate.offer) there.push_back(&candidate);
  }
  const std::string self = own_program();
  JoinResult result;
  result.plan.program = options_.program.front();
  std::vector<JoinCandidate*> seated;  // one for each host of the plan
  for (const RankAssignment& assignment : assign_ranks(all, world_)) {
    const SlotOffer& offer = all[assignment.offer];
    Host host;
    host.name = offer.host;
    host.slots = offer.slots;
    result.plan.placement.push_back({std::move(host), assignment.first_rank, offer.slots});
    seated.push_back(there[assignment.offer]);
    const bool own = seated.back() == nullptr;
    result.plan.hosts.push_back(
        {.local = own,
         .bprun = self,
         .command = own ? std::vector<std::string>{self, "--agent"} : std::vector<std::string>{},
         .joined = !own});
  }
  choose_gpus(result.plan, seated);
  stop_listening();
  result.machines.key = key_;
  for (JoinCandidate* candidate : seated) {
    result.machines.machines.push_back(
        candidate == nullptr ? JoinedMachine{}
                             : JoinedMachine{std::move(candidate->channel), candidate->hello});
  }
  candidates_.clear();
  result.machines.loop = std::move(loop_);
  return result;
}

// Those of this machine are asked for by an agent, as in any job.
void JoinServer::choose_gpus(JobPlan& plan, const std::vector<JoinCandidate*>& seated) const {
  std::vector<GpuWish> wishes;
  for (std::size_t i = 0; i < seated.size(); ++i) {
    Host& host = plan.placement[i].host;
    if (seated[i] != nullptr && seated[i]->there) {
      wishes.push_back({&host, seated[i]->gpus, seated[i]->hello.machine, *seated[i]->there});
    } else if (seated[i] == nullptr && !options_.gpus.empty()) {
      for (GpuWish& wish : ask_for_gpus({&host, 1}, {plan.hosts[i]}, options_)) {
        wishes.push_back(std::move(wish));
      }
    }
  }
  plan.notes = give_gpus(wishes, options_.share_gpus);
  if (!options_.share_gpus) check_one_rank_a_gpu(plan.placement);
}

std::string JoinServer::outlook() const {
  const int port = port_of(listener_.get());
  const int awaited = world_ - own_.slots;
  if (options_.json) {
    const nlohmann::ordered_json json = {{"program", options_.program},
                                         {"port", port},
                                         {"ranks", world_},
                                         {"slots", own_.slots},
                                         {"awaited", awaited},
                                         {"seconds", options_.start_timeout / 1.0s},
                                         {"join", invitation()}};
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return concat("program: ", quote_shell_words(options_.program), "\nwould serve on port ", port,
                "; ", describe_offers({own_}, world_), "\nwould wait ",
                elapsed_text(options_.start_timeout), " (--start-timeout) for ", awaited,
                awaited == 1 ? " rank" : " ranks", "; on each other machine: ", invitation(), "\n");
}

}  // namespace bp::launcher
