// Converts facts to and from JSON. `--json` prints these field names, so they are a public
// interface.
#pragma once

#include <nlohmann/json.hpp>

#include "launcher/protocol/facts.h"

namespace bp::launcher {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuProcess, pid, user, program, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Gpu, index, name, uuid, memory, memory_used, load, processes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuList, driver, problem, gpus)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PathFacts, path, problem, size, folder)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LibraryFacts, name, found, problem)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SpaceFacts, path, problem, free, total)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostFacts,
                                   clock,
                                   seconds,
                                   cores,
                                   usable_threads,
                                   usable_cores,
                                   cpu_quota,
                                   open_files,
                                   locked_memory,
                                   infiniband,
                                   loopback_problem,
                                   directory_problem,
                                   spaces,
                                   paths,
                                   environment,
                                   gpus,
                                   libraries)

}  // namespace bp::launcher
