// Makes a store in the process that holds its lease. See prepare.h.
#pragma once

#include "trainer/data/lease.h"
#include "trainer/data/plan.h"
#include "trainer/data/say.h"

namespace bp::trainer {

// Makes the store, or continues the leftover of a killed preparer. Throws InputError, or Error
// (aborted) if the lease was lost; both leave no partial file. Throws Interrupted if this process
// is asked to stop, and leaves the committed part to the next preparer.
void make_store(const Plan& plan, Lease& lease, const Say& progress);

}  // namespace bp::trainer
