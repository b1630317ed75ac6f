// --gpus: asks the hosts of a job for their GPUs before its ranks are placed on them.
#pragma once

#include <string>
#include <vector>

#include "launcher/job/options.h"
#include "launcher/job/plan.h"

namespace bp::launcher {

// Puts the GPUs of its ranks into each host and returns what to tell the user: which of them others
// are at work on. A host that does not answer stays as it is; the job will say why. `how` has an
// entry for each of `hosts`. Throws unavailable as choose_gpus does.
[[nodiscard]] std::vector<std::string> give_gpus(Hosts& hosts,
                                                 const std::vector<HostPlan>& how,
                                                 const Options& options);

// Throws unavailable where a host has fewer GPUs than ranks. Hosts whose GPUs nobody has named are
// left alone.
void check_one_rank_a_gpu(const std::vector<PlacedHost>& placement);

}  // namespace bp::launcher
