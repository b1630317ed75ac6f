#include "launcher/plan/give_gpus.h"

#include "base/text.h"
#include "bp/error.h"
#include "launcher/gpus/choice.h"
#include "launcher/plan/ask_hosts.h"

namespace bp::launcher {

std::vector<std::string> give_gpus(const std::vector<GpuWish>& wishes, bool shared) {
  std::vector<GpuHost> hosts;
  for (const GpuWish& wish : wishes) {
    hosts.push_back({.name = wish.host->name,
                     .machine = wish.machine,
                     .named = wish.host->gpus,
                     .ranks = wish.host->slots,
                     .available = wish.available,
                     .request = parse_gpu_request(wish.gpus)});
  }
  const auto chosen = choose_gpus(hosts, shared);
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    wishes[i].host->gpus = chosen[i];
  }
  return taken_gpus(hosts, chosen);
}

std::vector<GpuWish> ask_for_gpus(std::span<Host> hosts,
                                  const std::vector<AgentStart>& how,
                                  const Options& options) {
  JobPlan plan;
  for (const Host& host : hosts) {
    plan.placement.push_back({host, 0, 0});
  }
  plan.hosts = how;
  const auto answers =
      ask_hosts(plan, {.question = {.directory = "/"}, .limit = options.start_timeout}).hosts;
  std::vector<GpuWish> wishes;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (answers[i].facts) {
      wishes.push_back({.host = &hosts[i],
                        .gpus = options.gpus,
                        .machine = answers[i].hello->machine,
                        .available = answers[i].facts->gpus});
    }
  }
  return wishes;
}

void check_one_rank_a_gpu(const std::vector<PlacedHost>& placement) {
  for (const PlacedHost& placed : placement) {
    const auto& gpus = placed.host.gpus;
    if (gpus && static_cast<int>(gpus->size()) < placed.ranks) {
      throw Error(ErrorCode::unavailable,
                  concat("host ", placed.host.name, " has ", gpus->size(),
                         gpus->size() == 1 ? " GPU" : " GPUs", " for ", placed.ranks,
                         " ranks; give it fewer slots, or let ranks share one: --share-gpus"));
    }
  }
}

}  // namespace bp::launcher
