// --gpus: gives the hosts of a job their GPUs, before its ranks are started on them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/gpus/gpu.h"
#include "launcher/plan/plan.h"

namespace bp::launcher {

// A host, and what is known of it.
struct GpuWish {
  Host* host = nullptr;
  std::string gpus;     // as --gpus says it
  std::string machine;  // of Hello
  GpuList there;
};

// Puts the GPUs of its ranks into each host and returns what to tell the user: which of them others
// are at work on. Throws unavailable as choose_gpus does.
[[nodiscard]] std::vector<std::string> give_gpus(const std::vector<GpuWish>& wishes, bool shared);

// What the hosts answer when asked which GPUs they have, by agents that are started as `how` says,
// which has an entry for each of them. One that does not answer is left out; the job will say why.
[[nodiscard]] std::vector<GpuWish> ask_for_gpus(std::span<Host> hosts,
                                                const std::vector<AgentStart>& how,
                                                const Options& options);

// Throws unavailable where a host has fewer GPUs than ranks. Hosts whose GPUs nobody has named are
// left alone.
void check_one_rank_a_gpu(const std::vector<PlacedHost>& placement);

}  // namespace bp::launcher
