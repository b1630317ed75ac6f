// Makes the plan of a job from the machines that have joined it.
#pragma once

#include <list>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/hosts/slot_offers.h"
#include "launcher/plan/plan.h"
#include "launcher/serve/join_candidate.h"
#include "launcher/serve/joined_machines.h"

namespace bp::launcher {

struct JoinResult {
  JobPlan plan;
  JoinedMachines machines;
};

// The slots of this machine, then those of each candidate that has joined.
[[nodiscard]] std::vector<SlotOffer> offers_of(const SlotOffer& own,
                                               const std::list<JoinCandidate>& candidates);

// Places the ranks and GPUs of the job, and moves the channels of its machines from `candidates` to
// the result, which gets no loop and no key. The offers must have as many slots as the job has
// ranks. Throws invalid_argument if a number of ranks fits into no gap, and unavailable as
// choose_gpus() does; `candidates` are then unchanged.
[[nodiscard]] JoinResult make_joined_plan(const Options& options,
                                          const SlotOffer& own,
                                          std::list<JoinCandidate>& candidates);

}  // namespace bp::launcher
