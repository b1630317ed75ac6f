// Makes a store in the process that holds its lease. See prepare.h.
#pragma once

#include "trainer/common/say.h"
#include "trainer/prepare/lease.h"
#include "trainer/prepare/plan.h"

namespace bp::trainer {

// Makes the store, or continues the leftover of a killed preparer. Throws InputError, or Error
// (aborted) if the lease was lost; both leave no partial file. Throws Interrupted if this process
// is asked to stop, and leaves the committed part to the next preparer.
void make_store(const Plan& plan, Lease& lease, const Say& progress);

}  // namespace bp::trainer
