// The data of an evaluation. Nothing is made beside the user's files: what is not a store already
// is prepared in a temporary folder of each host, unless --store names a place.
#pragma once

#include <optional>
#include <string>

#include "bp/communicator.h"
#include "trainer/data/sample_store.h"
#include "trainer/options/options.h"
#include "trainer/share/shared_data.h"

namespace bp::trainer {

// Collective. The run's own data (options.own) is taken from the run's store, as long as that holds
// what the run was trained on; else it is prepared again, with the model's vocabulary. The
// temporary folder is gone again on return, and when this throws.
//
// Throws what prepare_everywhere() throws; InputError (65) when the run's own data has changed
// since it was trained; Interrupted.
[[nodiscard]] SampleStore open_evaluation_data(Communicator& world,
                                               const Options& options,
                                               const Say& say);

}  // namespace bp::trainer
