#include "launcher/tools/gpu_table.h"

#include <array>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "launcher/protocol/facts_json.h"

namespace bp::launcher {
namespace {

std::string line_of(const Gpu& gpu) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), "  %2d  %-28s  load %3d %%  %10s of %s used  ", gpu.index,
                gpu.name.c_str(), gpu.load, size_text(gpu.memory_used).c_str(),
                size_text(gpu.memory).c_str());
  return concat(text.data(), gpu.processes.empty() ? "free" : owners_of(gpu), "\n");
}

std::string head_of(const HostAnswer& answer) {
  if (!answer.facts) {
    return concat("no answer: ", answer.problem);
  }
  const GpuList& list = answer.facts->gpus;
  if (list.gpus.empty()) {
    return concat("none: ", list.problem.empty() ? "the driver reports none" : list.problem);
  }
  return concat(list.gpus.size(), list.gpus.size() == 1 ? " GPU" : " GPUs", ", driver ",
                list.driver);
}

}  // namespace

std::string gpu_table(const JobPlan& plan, const std::vector<HostAnswer>& answers) {
  std::string text;
  for (std::size_t host = 0; host < answers.size(); ++host) {
    text += concat(plan.placement[host].host.name, ": ", head_of(answers[host]), "\n");
    if (answers[host].facts) {
      for (const Gpu& gpu : answers[host].facts->gpus.gpus) {
        text += line_of(gpu);
      }
    }
  }
  return text;
}

std::string gpu_json(const JobPlan& plan, const std::vector<HostAnswer>& answers) {
  nlohmann::json hosts = nlohmann::json::array();
  for (std::size_t host = 0; host < answers.size(); ++host) {
    nlohmann::json entry = answers[host].facts
                               ? nlohmann::json(answers[host].facts->gpus)
                               : nlohmann::json(GpuList{.problem = answers[host].problem});
    entry["host"] = plan.placement[host].host.name;
    hosts.push_back(std::move(entry));
  }
  return nlohmann::json{{"hosts", std::move(hosts)}}.dump(
             2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace bp::launcher
