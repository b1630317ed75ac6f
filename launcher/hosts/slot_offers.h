// Machines that join a job by themselves, each with so many slots, perhaps from a certain rank on:
// whether that can be, and which ranks it makes. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/placement.h"

namespace bp::launcher {

struct SlotOffer {
  std::string host;
  int slots = 1;
  std::optional<int> first_rank;
};

// Why `offer` cannot be taken beside those that are there, naming whom it contradicts; empty where
// it can.
[[nodiscard]] std::string contradiction(const std::vector<SlotOffer>& there,
                                        const SlotOffer& offer,
                                        int world);

[[nodiscard]] int slots_of(const std::vector<SlotOffer>& offers);

// "4 of 6 ranks are there: a (ranks 0-2), b (1 slot)"
[[nodiscard]] std::string describe_offers(const std::vector<SlotOffer>& there, int world);

// Of offers that together have `world` slots and do not contradict each other: those that name
// their first rank get it; the others, in their order, the first gap that is wide enough.
struct RankAssignment {
  std::size_t offer = 0;  // index
  int first_rank = 0;
};
// By first rank, those without slots left out. Throws invalid_argument where an offer fits into no
// gap.
[[nodiscard]] std::vector<RankAssignment> assign_ranks(const std::vector<SlotOffer>& offers,
                                                       int world);

}  // namespace bp::launcher
