// The checks of bprun doctor, each a function of what a host said. Pure.
#pragma once

#include <string>

#include "launcher/tools/doctor.h"

namespace bp::launcher {

[[nodiscard]] Check check_version(const Hello& theirs, const Hello& ours);
[[nodiscard]] Check check_clock(const HostAnswer& answer);
[[nodiscard]] Check check_cores(const Hello& hello, const HostFacts& facts);
[[nodiscard]] Check check_open_files(const HostFacts& facts);
[[nodiscard]] Check check_locked_memory(const HostFacts& facts);
[[nodiscard]] Check check_space(const SpaceFacts& space);
[[nodiscard]] Check check_directory(const HostFacts& facts);
// `first`: of the first host that could read it, to compare with; null where that is this one.
[[nodiscard]] Check check_data(const PathFacts& path, const PathFacts* first);
// `wanted`: the GPUs that the host list names for this host.
[[nodiscard]] Check check_gpus(const GpuList& gpus, const std::vector<int>& wanted);

[[nodiscard]] Check check_network(const Reach& reach);

}  // namespace bp::launcher
