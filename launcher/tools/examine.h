// The checks of bprun doctor. Each is a function of a host's answer. Pure.
#pragma once

#include <vector>

#include "launcher/tools/doctor.h"

namespace bp::launcher {

[[nodiscard]] Check check_version(const Hello& remote, const Hello& own);
[[nodiscard]] Check check_clock(const HostAnswer& answer);
// `ranks` is the number of ranks that the job would start on the host.
[[nodiscard]] Check check_cores(const Hello& hello, const HostFacts& facts, int ranks);
[[nodiscard]] Check check_open_files(const HostFacts& facts);
[[nodiscard]] Check check_locked_memory(const HostFacts& facts);
[[nodiscard]] Check check_loopback(const HostFacts& facts);
[[nodiscard]] Check check_space(const SpaceFacts& space);
[[nodiscard]] Check check_directory(const HostFacts& facts);
// Compares with `first`, the facts of the first host that can read the path; null if this host is
// the first.
[[nodiscard]] Check check_data(const PathFacts& path, const PathFacts* first);
// `wanted` lists the GPUs that the host list names for this host.
// What collectives on GPUs need. Others work without it.
[[nodiscard]] Check check_libraries(const std::vector<LibraryFacts>& libraries);
[[nodiscard]] Check check_gpus(const GpuList& list, const std::vector<int>& wanted);

[[nodiscard]] Check check_network(const Reach& reach);

}  // namespace bp::launcher
