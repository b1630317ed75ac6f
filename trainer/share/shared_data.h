// The data of a job: prepared once, the same on every host.
#pragma once

#include <string>

#include "bp/communicator.h"
#include "trainer/common/say.h"
#include "trainer/options/options.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {

struct JobData {
  PrepareOptions prepare = {};  // `source` is a text file, or the store
  bool is_store = false;        // as rank 0 sees it: other hosts may lack the file
  bool stage = false;           // rank 0 sends its store to the hosts that lack it
};

// Collective. Returns what to prepare for these options, the same on all ranks.
[[nodiscard]] JobData job_data(Communicator& world, const DataOptions& options);

// Collective. Returns what the leader of this rank's host passed as `mine`.
[[nodiscard]] std::string of_leader(Communicator& world, const std::string& mine);

// Collective. The leader of each host prepares the store, or opens the one that `data` is, and
// reads all of it. Then all ranks compare the identities of their stores. With data.stage only rank
// 0 prepares, and it sends its store to the hosts that have none or another. Returns the store's
// path, which all ranks of a host share. `say` gets progress lines on rank 0.
//
// Throws InputError on the rank that met the problem: what prepare() and stage_store() throw, and
// 65 or 66 for what is wrong with the store. Throws 65 on all ranks if two hosts hold different
// stores, with a host that differs from rank 0's.
[[nodiscard]] std::string prepare_everywhere(Communicator& world,
                                             const JobData& data,
                                             const Say& say);

}  // namespace bp::trainer
