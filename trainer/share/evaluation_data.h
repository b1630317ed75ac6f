// The data of an evaluation. It writes nothing beside the user's files: a file that is not a store
// is prepared in a temporary folder of each host, unless --store names another place.
#pragma once

#include <optional>
#include <string>

#include "bp/communicator.h"
#include "trainer/data/sample_store.h"
#include "trainer/data/say.h"
#include "trainer/options/options.h"

namespace bp::trainer {

// Collective. If the run's own data is scored (options.own), opens the run's store, as long as it
// holds what the run was trained on. Otherwise prepares the data with the model's vocabulary. The
// temporary folder does not outlive the call.
//
// Throws what prepare_everywhere() throws, Interrupted, and InputError (65) if the run's own data
// has changed since it was trained.
[[nodiscard]] SampleStore open_evaluation_data(Communicator& world,
                                               const Options& options,
                                               const Say& say);

}  // namespace bp::trainer
