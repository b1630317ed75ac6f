// The weights of a checkpoint for all ranks.
#pragma once

#include <string>

#include "bp/communicator.h"
#include "trainer/model/bert.h"

namespace bp::trainer {

// Collective. Gives `model` on every rank the weights that rank 0 reads from the checkpoint's
// `folder`, which the other ranks do not use. Throws io or invalid_argument, with the file's name,
// if rank 0 cannot read them; the other ranks then get `aborted` when rank 0 ends.
void take_weights(Communicator& world, const std::string& folder, Bert& model);

// Collective. Gives `model`, on CPUs, the weights that rank 0 has. The ranks of a host keep them
// once, and none may change them.
void share_weights(Communicator& world, Bert& model);

}  // namespace bp::trainer
