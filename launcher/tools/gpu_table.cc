#include "launcher/tools/gpu_table.h"

#include <utility>

#include "base/report/report_table.h"
#include "base/text.h"
#include "launcher/protocol/facts_json.h"

namespace bp::launcher {
namespace {

void add_gpu(Table& table, const Gpu& gpu) {
  table.add({concat(gpu.index), gpu.name,
             concat("load ", gpu.load < 100 ? " " : "", gpu.load < 10 ? " " : "", gpu.load, " %"),
             concat(size_text(gpu.memory_used), " of ", size_text(gpu.memory), " used"),
             gpu.processes.empty() ? "free" : owners_of(gpu)});
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
  Table table{
      .columns = {{.width = 4}, {.left = true, .width = 28}, {}, {.width = 27}, {.left = true}}};
  for (std::size_t host = 0; host < answers.size(); ++host) {
    table.add({concat(plan.placement[host].host.name, ": ", head_of(answers[host]))},
              Table::Row::Kind::heading);
    if (!answers[host].facts) continue;
    for (const Gpu& gpu : answers[host].facts->gpus.gpus) add_gpu(table, gpu);
  }
  return terminal_text(table, {.right = true});
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
