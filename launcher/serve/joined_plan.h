// Makes the plan of a job from the machines that have joined it.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "launcher/agent/channel.h"
#include "launcher/cli/bprun_options.h"
#include "launcher/gpus/gpu.h"
#include "launcher/hosts/slot_offers.h"
#include "launcher/plan/job_plan.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/serve/joined_machines.h"

namespace bp::launcher {

// A machine that has proved that it knows the key of --serve, until the job begins.
struct JoinCandidate {
  std::unique_ptr<Channel> channel;
  Hello hello;
  std::string address;                // the peer's, numeric
  std::optional<SlotOffer> offer;     // once it has joined
  std::string gpu_request;            // as --gpus says it; empty: it gets no GPUs
  std::optional<GpuList> gpus;        // of its machine, once it has answered which it has
  std::optional<Deadline> leaves_by;  // it was refused; the server closes the connection then
  bool gone = false;                  // the connection is closed

  // Whether it has joined and the answer about its GPUs is missing.
  [[nodiscard]] bool awaits_gpus() const { return offer && !gpu_request.empty() && !gpus; }
};

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
