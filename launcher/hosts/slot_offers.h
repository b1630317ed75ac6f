// Checks the offers of machines that join a job by themselves, and assigns ranks to them. An offer
// is a number of slots, perhaps with a first rank. Pure.
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

// Returns why `offer` cannot be accepted in addition to the `present` offers, naming the offer that
// it contradicts; empty if it can be accepted.
[[nodiscard]] std::string contradiction(const std::vector<SlotOffer>& present,
                                        const SlotOffer& offer,
                                        int world);

[[nodiscard]] int slots_of(const std::vector<SlotOffer>& offers);

// Returns "4 of 6 ranks are present: a (ranks 0-2), b (1 slot)".
[[nodiscard]] std::string describe_offers(const std::vector<SlotOffer>& present, int world);

// The first rank that an offer gets.
struct RankAssignment {
  std::size_t offer = 0;  // index
  int first_rank = 0;
};
// Assigns ranks to offers that together have `world` slots and do not contradict each other. An
// offer with a first rank gets that one; each of the others, in order, gets the first gap that is
// wide enough. Returns the assignments ordered by first rank, without offers of 0 slots. Throws
// invalid_argument if an offer fits no gap.
[[nodiscard]] std::vector<RankAssignment> assign_ranks(const std::vector<SlotOffer>& offers,
                                                       int world);

}  // namespace bp::launcher
