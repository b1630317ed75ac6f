// Decides which waiting trials start where. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "launcher/sweep/space/space.h"

namespace bp::launcher::sweep {

struct HostSlots {
  std::string host = {};
  int slots = 0;  // of the host; 0 while it is lost
  int free = 0;   // of them
};

struct Demand {
  int trial = 0;
  int slots = 1;
  Spread spread = Spread::host;
  int overtaken = 0;  // how many trials that began to wait later have started; starts() counts it
};

struct Part {
  std::size_t host = 0;  // index in the pool
  int slots = 0;
};

struct Start {
  int trial = 0;
  std::vector<Part> parts = {};  // one for spread host
};

// Whether the trial could start if all slots of the pool were free.
[[nodiscard]] bool fits_when_free(const Demand& demand, std::span<const HostSlots> pool);

// Returns what to start now. `waiting` is in the order in which the trials began to wait; those
// that start are removed from it, and `overtaken` of those that stay is raised. `pool` loses the
// slots that they take.
//
// The longest-waiting trial that fits starts first, on the host where the fewest slots remain
// free. Afterwards no trial fits, with one exception. A trial that could run but has been overtaken
// by as many trials as the pool has slots gets a reservation: no other trial starts on the host
// (or, for spread any, the hosts) that will first have room for it. Only the trial that has waited
// longest has one. So every trial starts after a bounded number of others, and a host with a
// reservation is never wholly idle if the trial needs one host.
[[nodiscard]] std::vector<Start> starts(std::vector<HostSlots>& pool, std::vector<Demand>& waiting);

}  // namespace bp::launcher::sweep
