// The data of a job: prepared once, the same on every host.
#pragma once

#include <string>

#include "bp/communicator.h"
#include "trainer/data/sample_store.h"
#include "trainer/data/say.h"
#include "trainer/options/options.h"

namespace bp::trainer {

// Collective. Returns whether `data`, the same name on all ranks, is a store. The host of rank 0
// says so, because the others may lack the file.
[[nodiscard]] bool is_store_everywhere(Communicator& world, const std::string& data);

// Collective. Returns what the leader of this rank's host passed as `mine`.
[[nodiscard]] std::string of_leader(Communicator& world, const std::string& mine);

// Collective. The leader of each host prepares the store from options.data, or opens options.data
// if options.data_is_store, and reads all of it. Then all ranks compare the identities of their
// stores. With options.stage only rank 0 prepares, and it sends its store to the hosts that have
// none or another. Returns the store's path, which all ranks of a host share. `say` gets progress
// lines on rank 0.
//
// Throws InputError on the rank that met the problem: what prepare() and stage_store() throw, and
// 65 or 66 for what is wrong with the store. Throws 65 on all ranks if two hosts hold different
// stores, with a host that differs from rank 0's.
[[nodiscard]] std::string prepare_everywhere(Communicator& world,
                                             const Options& options,
                                             const Say& say);

}  // namespace bp::trainer
