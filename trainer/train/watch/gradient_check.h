// Whether all ranks have the same parameters and the same reduced gradients, bit for bit.
#pragma once

#include <cstdint>

#include "bp/communicator.h"
#include "trainer/model/bert.h"

namespace bp::trainer {

// Collective, between reduce() and step(). Compares a hash of each parameter and of its gradient.
// Throws InputError (70) on all ranks, with `step`, the first parameter that differs and the ranks
// that differ from rank 0 in it.
void check_same_on_all_ranks(Communicator& world, const Bert& model, std::int64_t step);

}  // namespace bp::trainer
