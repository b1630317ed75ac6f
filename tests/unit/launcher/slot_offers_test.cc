#include "launcher/hosts/slot_offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

using testing::ElementsAre;

// "1@0" means that offer 1 begins at rank 0.
std::vector<std::string> assignments(const std::vector<SlotOffer>& offers, int world) {
  std::vector<std::string> texts;
  for (const RankAssignment& assignment : assign_ranks(offers, world)) {
    texts.push_back(concat(assignment.offer, "@", assignment.first_rank));
  }
  return texts;
}

// docs/acceptance.md, Other engines: Machines that join with `--join` get their ranks in the order
// of joining.
TEST(SlotOffers, AreAssignedInTheOrderOfJoining) {
  EXPECT_THAT(assignments({{"a", 3, {}}, {"b", 1, {}}, {"c", 2, {}}}, 6),
              ElementsAre("0@0", "1@3", "2@4"));
  EXPECT_THAT(assignments({{"a", 0, {}}, {"b", 2, {}}}, 2), ElementsAre("1@0"))
      << "a has no slots, because it only serves";
}

TEST(SlotOffers, AreAssignedAtTheirFirstRankIfTheyNameIt) {
  EXPECT_THAT(assignments({{"a", 1, {}}, {"b", 2, 0}, {"c", 1, {}}}, 4),
              ElementsAre("1@0", "0@2", "2@3"));
  EXPECT_THAT(assignments({{"a", 2, {}}, {"b", 1, 1}, {"c", 1, {}}}, 4),
              ElementsAre("2@0", "1@1", "0@2"))
      << "the gap before b is too narrow for a";
}

TEST(SlotOffers, ThatFitIntoNoGapAreRefused) {
  try {
    (void)assign_ranks({{"a", 2, {}}, {"b", 1, 1}}, 3);
    ADD_FAILURE() << "assign_ranks() took an offer that fits into no gap";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "no 2 ranks side by side are left for a: give its --first-rank, or other slots; "
                 "3 of 3 ranks are present: a (2 slots), b (rank 1)");
  }
}

TEST(SlotOffers, ThatConflictWithOthersNameBothSides) {
  const std::vector<SlotOffer> accepted = {{"a", 3, 0}, {"b", 1, {}}};
  EXPECT_EQ(contradiction(accepted, {"c", 2, {}}, 6), "");
  EXPECT_EQ(contradiction(accepted, {"c", 2, 3}, 6), "");
  EXPECT_EQ(contradiction(accepted, {"c", 2, 2}, 6), "c wants ranks 2-3, but a has ranks 0-2");
  EXPECT_EQ(contradiction(accepted, {"c", 1, 0}, 6), "c wants rank 0, but a has ranks 0-2");
  EXPECT_EQ(contradiction(accepted, {"c", 2, 5}, 6), "c wants ranks 5-6, but -n is 6");
  EXPECT_EQ(contradiction(accepted, {"c", 3, {}}, 6),
            "c has 3 slots, but 4 of 6 ranks are present: a (ranks 0-2), b (1 slot)");
  EXPECT_EQ(contradiction({}, {"a", 3, {}}, 2), "a has 3 slots, but -n is 2");
}

}  // namespace
}  // namespace bp::launcher
