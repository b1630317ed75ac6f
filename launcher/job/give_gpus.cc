#include "launcher/job/give_gpus.h"

#include "bp/error.h"
#include "comm/base/text.h"
#include "launcher/gpus/choice.h"
#include "launcher/job/survey.h"

namespace bp::launcher {

std::vector<std::string> give_gpus(Hosts& hosts,
                                   const std::vector<HostPlan>& how,
                                   const Options& options) {
  JobPlan plan;
  for (const Host& host : hosts) {
    plan.placement.push_back({host, 0, 0});
  }
  plan.hosts = how;
  const auto answers =
      survey_hosts(plan, {.question = {.directory = "/"}, .limit = options.start_timeout}).hosts;
  std::vector<GpuHost> asked;
  std::vector<Host*> answered;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (answers[i].facts) {
      asked.push_back({hosts[i].name, answers[i].hello->machine, hosts[i].gpus, hosts[i].slots,
                       answers[i].facts->gpus});
      answered.push_back(&hosts[i]);
    }
  }
  const auto chosen = choose_gpus(asked, parse_gpu_request(options.gpus), options.share_gpus);
  for (std::size_t i = 0; i < answered.size(); ++i) {
    answered[i]->gpus = chosen[i];
  }
  return taken_gpus(asked, chosen);
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
