// Machines that join a job by themselves, each with so many slots, perhaps from a certain rank on:
// whether that can be, and which ranks it makes. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/placement.h"

namespace bp::launcher {

struct Claim {
  std::string host;
  int slots = 1;
  std::optional<int> first_rank;
};

// Why `claim` cannot be taken beside those that are there, naming whom it contradicts; empty where
// it can.
[[nodiscard]] std::string contradiction(const std::vector<Claim>& there,
                                        const Claim& claim,
                                        int world);

[[nodiscard]] int slots_of(const std::vector<Claim>& claims);

// "4 of 6 ranks are there: a (ranks 0-2), b (1 slot)"
[[nodiscard]] std::string describe_claims(const std::vector<Claim>& there, int world);

// Of claims that together have `world` slots and do not contradict each other: those that name
// their first rank get it; the others, in their order, the first gap that is wide enough.
struct Seat {
  std::size_t claim = 0;  // index
  int first_rank = 0;
};
// By first rank, those without slots left out. Throws invalid_argument where a claim fits into no
// gap.
[[nodiscard]] std::vector<Seat> seat_claims(const std::vector<Claim>& claims, int world);

}  // namespace bp::launcher
