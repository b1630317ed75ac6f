// --gpus: assigns GPUs to the hosts of a job before its ranks start.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/cli/bprun_options.h"
#include "launcher/gpus/gpu.h"
#include "launcher/plan/job_plan.h"

namespace bp::launcher {

// A host that gets GPUs.
struct GpuWish {
  Host* host = nullptr;
  std::string gpus;     // the request, as --gpus says it
  std::string machine;  // as in Hello: hosts on one machine share its GPUs
  GpuList available;    // the GPUs of the host
};

// Sets the GPUs of each host and returns lines for the user about GPUs that other processes use.
// Throws what choose_gpus() throws, unavailable if there are too few. `shared` is --share-gpus.
[[nodiscard]] std::vector<std::string> give_gpus(const std::vector<GpuWish>& wishes, bool shared);

// Asks the hosts which GPUs they have, through agents started as `how` says (an entry for each
// host). Leaves out a host that does not answer: the job's own agent will report why. Blocks for at
// most
// --start-timeout.
[[nodiscard]] std::vector<GpuWish> ask_for_gpus(std::span<Host> hosts,
                                                const std::vector<AgentStart>& how,
                                                const Options& options);

// Throws unavailable if a host has fewer GPUs than ranks. Ignores hosts whose GPUs are not known.
void check_one_rank_a_gpu(const std::vector<PlacedHost>& placement);

}  // namespace bp::launcher
