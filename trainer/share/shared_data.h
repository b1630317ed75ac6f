// The data of a job: prepared once, the same on every host.
#pragma once

#include <functional>
#include <string>

#include "bp/communicator.h"
#include "trainer/data/sample_store.h"
#include "trainer/options/options.h"

namespace bp::trainer {

using Say = std::function<void(const std::string&)>;

// Collective. The leader of each host prepares the store from options.data (or takes it when it is
// one) and reads all of it; then all compare what they hold. With options.stage rank 0 alone does,
// and sends it to the hosts that have another or none. Returns the path, which is the same on all
// ranks of a host. `say` gets lines for a person.
//
// Throws InputError, on the rank that met it: what prepare() and stage_store() throw, and what is
// wrong with the store (65, 66); 65 on all ranks when hosts hold different stores, naming one that
// differs from rank 0's.
[[nodiscard]] std::string prepare_everywhere(Communicator& world,
                                             const Options& options,
                                             const Say& say);

}  // namespace bp::trainer
