#include "launcher/hosts/claims.h"

#include <algorithm>
#include <cstdint>

#include "bp/error.h"
#include "comm/base/text.h"

namespace bp::launcher {
namespace {

std::string slots_text(int slots) { return concat(slots, slots == 1 ? " slot" : " slots"); }

std::string ranks_text(std::int64_t first, int count) {
  return count == 1 ? concat("rank ", first) : concat("ranks ", first, "-", first + count - 1);
}

std::string text_of(const Claim& claim) {
  return concat(claim.host, " (",
                claim.first_rank && claim.slots > 0 ? ranks_text(*claim.first_rank, claim.slots)
                                                    : slots_text(claim.slots),
                ")");
}

bool overlap(const Claim& a, const Claim& b) {
  return a.first_rank && b.first_rank && a.slots > 0 && b.slots > 0 &&
         *a.first_rank < *b.first_rank + b.slots && *b.first_rank < *a.first_rank + a.slots;
}

}  // namespace

int slots_of(const std::vector<Claim>& claims) {
  int slots = 0;
  for (const Claim& claim : claims) slots += claim.slots;
  return slots;
}

std::string describe_claims(const std::vector<Claim>& there, int world) {
  std::string text;
  for (const Claim& claim : there) text += concat(text.empty() ? ": " : ", ", text_of(claim));
  return concat(slots_of(there), " of ", world, " ranks are there", text);
}

std::string contradiction(const std::vector<Claim>& there, const Claim& claim, int world) {
  if (claim.first_rank && *claim.first_rank > world - claim.slots) {
    return concat(claim.host, " wants ", ranks_text(*claim.first_rank, claim.slots), ", but -n is ",
                  world);
  }
  const auto same = [&](const Claim& other) { return overlap(other, claim); };
  const auto other = std::find_if(there.begin(), there.end(), same);
  if (other != there.end()) {
    return concat(claim.host, " wants ", ranks_text(*claim.first_rank, claim.slots), ", but ",
                  other->host, " has ", ranks_text(*other->first_rank, other->slots));
  }
  if (claim.slots > world) {
    return concat(claim.host, " has ", slots_text(claim.slots), ", but -n is ", world);
  }
  if (slots_of(there) + claim.slots > world) {
    return concat(claim.host, " has ", slots_text(claim.slots), ", but ",
                  describe_claims(there, world));
  }
  return "";
}

std::vector<Seat> seat_claims(const std::vector<Claim>& claims, int world) {
  std::vector<bool> taken(static_cast<std::size_t>(world));
  std::vector<Seat> seats;
  const auto take = [&](std::size_t claim, int first) {
    std::fill_n(taken.begin() + first, claims[claim].slots, true);
    seats.push_back({claim, first});
  };
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].first_rank && claims[i].slots > 0) take(i, *claims[i].first_rank);
  }
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].first_rank || claims[i].slots == 0) continue;
    const auto gap = std::search_n(taken.begin(), taken.end(), claims[i].slots, false);
    if (gap == taken.end()) {
      throw Error(
          ErrorCode::invalid_argument,
          concat("no ", claims[i].slots, " ranks side by side are left for ", claims[i].host,
                 ": give its --first-rank, or other slots; ", describe_claims(claims, world)));
    }
    take(i, static_cast<int>(gap - taken.begin()));
  }
  std::sort(seats.begin(), seats.end(),
            [](const Seat& a, const Seat& b) { return a.first_rank < b.first_rank; });
  return seats;
}

}  // namespace bp::launcher
