#include "launcher/hosts/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bp/error.h"
#include "comm/base/text.h"

namespace bp::launcher {
namespace {

using testing::ElementsAre;

// "1@0": the claim of that index begins at that rank.
std::vector<std::string> seats(const std::vector<Claim>& claims, int world) {
  std::vector<std::string> texts;
  for (const Seat& seat : seat_claims(claims, world)) {
    texts.push_back(concat(seat.claim, "@", seat.first_rank));
  }
  return texts;
}

TEST(Claims, AreSeatedInTheOrderOfTheirComing) {
  EXPECT_THAT(seats({{"a", 3, {}}, {"b", 1, {}}, {"c", 2, {}}}, 6),
              ElementsAre("0@0", "1@3", "2@4"));
  EXPECT_THAT(seats({{"a", 0, {}}, {"b", 2, {}}}, 2), ElementsAre("1@0")) << "a only serves";
}

TEST(Claims, AreSeatedAtTheirFirstRankWhereTheyNameIt) {
  EXPECT_THAT(seats({{"a", 1, {}}, {"b", 2, 0}, {"c", 1, {}}}, 4),
              ElementsAre("1@0", "0@2", "2@3"));
  EXPECT_THAT(seats({{"a", 2, {}}, {"b", 1, 1}, {"c", 1, {}}}, 4), ElementsAre("2@0", "1@1", "0@2"))
      << "the gap before b is too narrow for a";
}

TEST(Claims, ThatFitIntoNoGapAreRefused) {
  try {
    (void)seat_claims({{"a", 2, {}}, {"b", 1, 1}}, 3);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "no 2 ranks side by side are left for a: give its --first-rank, or other slots; "
                 "3 of 3 ranks are there: a (2 slots), b (rank 1)");
  }
}

TEST(Claims, ThatContradictOthersNameBothSides) {
  const std::vector<Claim> there = {{"a", 3, 0}, {"b", 1, {}}};
  EXPECT_EQ(contradiction(there, {"c", 2, {}}, 6), "");
  EXPECT_EQ(contradiction(there, {"c", 2, 3}, 6), "");
  EXPECT_EQ(contradiction(there, {"c", 2, 2}, 6), "c wants ranks 2-3, but a has ranks 0-2");
  EXPECT_EQ(contradiction(there, {"c", 1, 0}, 6), "c wants rank 0, but a has ranks 0-2");
  EXPECT_EQ(contradiction(there, {"c", 2, 5}, 6), "c wants ranks 5-6, but -n is 6");
  EXPECT_EQ(contradiction(there, {"c", 3, {}}, 6),
            "c has 3 slots, but 4 of 6 ranks are there: a (ranks 0-2), b (1 slot)");
  EXPECT_EQ(contradiction({}, {"a", 3, {}}, 2), "a has 3 slots, but -n is 2");
}

}  // namespace
}  // namespace bp::launcher
