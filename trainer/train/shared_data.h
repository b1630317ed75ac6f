// The data of a job: prepared once, the same on every host.
#pragma once

#include <functional>
#include <string>

#include "bp/communicator.h"
#include "trainer/data/sample_store.h"
#include "trainer/train/options.h"

namespace bp::trainer {

using Say = std::function<void(const std::string&)>;

// Collective. The leader of each host prepares the store from options.data (or takes it when it is
// one), the others then open it; all compare what they hold. `say` gets lines for a person. Throws
// InputError: what prepare() throws, on the rank that met it; 65 on all ranks when hosts hold
// different stores, naming one that differs from rank 0's.
[[nodiscard]] std::string prepare_everywhere(Communicator& world,
                                             const Options& options,
                                             const Say& say);

}  // namespace bp::trainer
