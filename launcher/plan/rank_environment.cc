#include "launcher/plan/rank_environment.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "base/host_weights.h"
#include "base/joined.h"
#include "base/text.h"
#include "launcher/process/environment_list.h"

namespace bp::launcher {
namespace {

// The GPUs of all ranks of the host, of which a program takes number LOCAL_RANK. If ranks share
// GPUs, only the rank's own.
std::string gpus_of(const PlacedHost& placed, int local_rank) {
  const std::vector<int>& gpus = *placed.host.gpus;
  const auto ranks = static_cast<std::size_t>(placed.ranks);
  if (gpus.size() < ranks) {
    return gpus.empty() ? "" : concat(gpus[static_cast<std::size_t>(local_rank) % gpus.size()]);
  }
  return joined(std::span(gpus).first(ranks), ",");
}

}  // namespace

std::vector<std::string> rank_variables(const std::vector<PlacedHost>& placement,
                                        int rank,
                                        const JobVariables& job) {
  const std::size_t host = host_of_rank(placement, rank);
  const PlacedHost& placed = placement[host];
  const auto name_of_host = [](const PlacedHost& p) { return p.host.name; };
  const auto weight_of_host = [](const PlacedHost& p) { return p.host.weight.value_or(1); };
  std::vector<std::string> variables{
      concat("RANK=", rank),
      concat("WORLD_SIZE=", world_size(placement)),
      concat("LOCAL_RANK=", rank - placed.first_rank),
      concat("LOCAL_WORLD_SIZE=", placed.ranks),
      concat("GROUP_RANK=", host),
      concat("GROUP_WORLD_SIZE=", placement.size()),
      concat("MASTER_ADDR=", job.master_address),
      concat("MASTER_PORT=", job.master_port),
      concat("BP_GENERATION=", job.generation),
      concat("BP_STORE=", job.store.text()),
      concat("BP_HOST_RANK=", host),
      concat("BP_LOCAL_SIZES=", joined(placement, ",", &PlacedHost::ranks)),
      concat("BP_HOST_NAMES=", joined(placement, ",", name_of_host)),
      concat(kHostWeights, "=", joined(placement, ",", weight_of_host))};
  if (placed.host.gpus) {
    variables.push_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
    variables.push_back(concat("CUDA_VISIBLE_DEVICES=", gpus_of(placed, rank - placed.first_rank)));
  }
  return variables;
}

bool travels(std::string_view name, bool joined) {
  if (joined) return name.starts_with("BP_");
  static constexpr std::array<std::string_view, 8> kNames{
      "PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "TZ", "TERM", "NO_COLOR"};
  static constexpr std::array<std::string_view, 10> kPrefixes{
      "LC_", "BP_", "OMP_", "MKL_", "KMP_", "GOMP_", "NCCL_", "GLOO_", "TORCH_", "CUDA_"};
  // Each host decides for itself which GPUs are visible.
  static constexpr std::string_view kNot = "CUDA_VISIBLE_DEVICES";
  const auto begins = [name](std::string_view prefix) { return name.starts_with(prefix); };
  return name != kNot && (std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
                          std::any_of(kPrefixes.begin(), kPrefixes.end(), begins));
}

std::vector<std::string> requested_variables(const std::vector<std::string>& requests,
                                             const std::vector<std::string>& environment) {
  std::vector<std::string> entries;
  for (const std::string& request : requests) {
    if (request.find('=') != std::string::npos) {
      entries.push_back(request);
    } else if (const auto value = find_environment(environment, request)) {
      entries.push_back(concat(request, "=", *value));
    }
  }
  return entries;
}

std::vector<std::string> sent_environment(const std::vector<std::string>& own,
                                          const Sending& how,
                                          const std::vector<std::string>& requests) {
  std::vector<std::string> sent;
  for (const std::string& entry : own) {
    if (how.whole || travels(name_of_entry(entry), how.joined)) {
      sent.push_back(entry);
    }
  }
  return merged_environment(without_engine(std::move(sent)), requested_variables(requests, own));
}

std::vector<int> threads_per_rank(const std::vector<HostCores>& hosts) {
  std::map<std::string, int> ranks;
  for (const HostCores& host : hosts) {
    ranks[host.machine] += host.ranks;
  }
  std::vector<int> threads;
  for (const HostCores& host : hosts) {
    threads.push_back(std::max(1, host.cores / std::max(1, ranks[host.machine])));
  }
  return threads;
}

}  // namespace bp::launcher
