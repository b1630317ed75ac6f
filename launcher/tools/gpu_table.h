// bprun gpus: prints the GPUs of all hosts. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/ask_hosts.h"

namespace bp::launcher {

[[nodiscard]] std::string gpu_table(const JobPlan& plan, const std::vector<HostAnswer>& answers);
[[nodiscard]] std::string gpu_json(const JobPlan& plan, const std::vector<HostAnswer>& answers);

}  // namespace bp::launcher
