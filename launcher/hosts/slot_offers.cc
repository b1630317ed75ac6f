#include "launcher/hosts/slot_offers.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

std::string slots_text(int slots) { return concat(slots, slots == 1 ? " slot" : " slots"); }

std::string ranks_text(std::int64_t first, int count) {
  return count == 1 ? concat("rank ", first) : concat("ranks ", first, "-", first + count - 1);
}

std::string text_of(const SlotOffer& offer) {
  return concat(offer.host, " (",
                offer.first_rank && offer.slots > 0 ? ranks_text(*offer.first_rank, offer.slots)
                                                    : slots_text(offer.slots),
                ")");
}

bool overlap(const SlotOffer& a, const SlotOffer& b) {
  return a.first_rank && b.first_rank && a.slots > 0 && b.slots > 0 &&
         *a.first_rank < *b.first_rank + b.slots && *b.first_rank < *a.first_rank + a.slots;
}

}  // namespace

int slots_of(const std::vector<SlotOffer>& offers) {
  int slots = 0;
  for (const SlotOffer& offer : offers) slots += offer.slots;
  return slots;
}

std::string describe_offers(const std::vector<SlotOffer>& present, int world) {
  std::string text;
  for (const SlotOffer& offer : present) text += concat(text.empty() ? ": " : ", ", text_of(offer));
  return concat(slots_of(present), " of ", world, " ranks are present", text);
}

std::string contradiction(const std::vector<SlotOffer>& present,
                          const SlotOffer& offer,
                          int world) {
  if (offer.first_rank && *offer.first_rank > world - offer.slots) {
    return concat(offer.host, " wants ", ranks_text(*offer.first_rank, offer.slots), ", but -n is ",
                  world);
  }
  const auto same = [&](const SlotOffer& other) { return overlap(other, offer); };
  const auto other = std::find_if(present.begin(), present.end(), same);
  if (other != present.end()) {
    return concat(offer.host, " wants ", ranks_text(*offer.first_rank, offer.slots), ", but ",
                  other->host, " has ", ranks_text(*other->first_rank, other->slots));
  }
  if (offer.slots > world) {
    return concat(offer.host, " has ", slots_text(offer.slots), ", but -n is ", world);
  }
  if (slots_of(present) + offer.slots > world) {
    return concat(offer.host, " has ", slots_text(offer.slots), ", but ",
                  describe_offers(present, world));
  }
  return "";
}

std::vector<RankAssignment> assign_ranks(const std::vector<SlotOffer>& offers, int world) {
  std::vector<bool> taken(static_cast<std::size_t>(world));
  std::vector<RankAssignment> assignments;
  const auto take = [&](std::size_t offer, int first) {
    std::fill_n(taken.begin() + first, offers[offer].slots, true);
    assignments.push_back({.offer = offer, .first_rank = first});
  };
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (offers[i].first_rank && offers[i].slots > 0) take(i, *offers[i].first_rank);
  }
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (offers[i].first_rank || offers[i].slots == 0) continue;
    const auto gap = std::search_n(taken.begin(), taken.end(), offers[i].slots, false);
    if (gap == taken.end()) {
      throw Error(
          ErrorCode::invalid_argument,
          concat("no ", offers[i].slots, " ranks side by side are left for ", offers[i].host,
                 ": give its --first-rank, or other slots; ", describe_offers(offers, world)));
    }
    take(i, static_cast<int>(gap - taken.begin()));
  }
  std::sort(
      assignments.begin(), assignments.end(),
      [](const RankAssignment& a, const RankAssignment& b) { return a.first_rank < b.first_rank; });
  return assignments;
}

}  // namespace bp::launcher
