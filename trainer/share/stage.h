// --stage: sends the store of rank 0 to the hosts that lack it.
#pragma once

#include <string>

#include "bp/communicator.h"
#include "trainer/data/say.h"

namespace bp::trainer {

// Collective. Rank 0 must have a complete store at `path`. Afterwards every host has a store with
// the same bytes at `path`, which may be one file in a shared folder. A host without it, or with
// another or damaged one, receives it into a temporary file, compares its hash and renames it.
// `say` gets progress lines on rank 0. Throws on the rank that met the problem: InputError with the
// host's name if a file that is not a store lies there (65) or the disk has too little room (70);
// Error (io).
void stage_store(Communicator& world, const std::string& path, const Say& say);

}  // namespace bp::trainer
