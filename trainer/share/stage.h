// --stage: rank 0's store, sent to the hosts that lack it.
#pragma once

#include <functional>
#include <string>

#include "bp/communicator.h"

namespace bp::trainer {

// Collective; rank 0 holds a whole store at `path`. Afterwards every host's `path` (on a shared
// folder the same file) is a store with the same bytes: hosts that had none, another or a damaged
// one have got it, checked by its hash and put in place by a rename. `say` on rank 0 gets lines for
// a person. Throws, on the rank that met it: InputError when something that is no store lies there
// (65), or when there is too little room (70), naming the host; Error (io).
void stage_store(Communicator& world,
                 const std::string& path,
                 const std::function<void(const std::string&)>& say);

}  // namespace bp::trainer
