
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "comm/engine/observe/blocked_notes.h"
#include "tests/support/memory_store.h"

namespace bp {
namespace {

using Notes = std::map<int, std::vector<BlockedNote>>;

// Returns the ranks of the circle in which the first note of `rank` waits.
std::vector<int> circle_of(int rank, const Notes& notes, int looks = 100) {
  std::vector<int> ranks;
  const auto notes_of = [&](int of) {
    const auto found = notes.find(of);
    return found == notes.end() ? std::vector<BlockedNote>() : found->second;
  };
  for (const auto& [each, note] :
       find_blocked_circle(rank, notes.at(rank).front(), notes_of, looks, 0)) {
    ranks.push_back(each);
  }
  return ranks;
}

// Rank 0 waits in the world for the others, which wait in a group for it.
Notes two_communicators() {
  const BlockedNote in_world{.group = "world",
                             .sequence = 3,
                             .what = "barrier",
                             .awaited = {1, 2},
                             .asked = {{"world.1.0", 0}}};
  const BlockedNote in_group{.group = "world.1.0",
                             .sequence = 0,
                             .what = "broadcast of 4 i64 from rank 0",
                             .awaited = {0},
                             .asked = {{"world", 3}}};
  return {{0, {in_world}}, {1, {in_group}}, {2, {in_group}}};
}

TEST(BlockedCircle, GoesThroughTwoCommunicators) {
  const Notes notes = two_communicators();
  EXPECT_THAT(circle_of(0, notes), testing::ElementsAre(0, 1));
  EXPECT_THAT(circle_of(2, notes), testing::ElementsAre(2, 0));
}

TEST(BlockedCircle, ItsTextIsTheSameFromEachRank) {
  const Notes notes = two_communicators();
  BlockedCircle circle = {{1, notes.at(1).front()}, {0, notes.at(0).front()}};
  const std::string text = circle_text(circle);
  EXPECT_EQ(text,
            "ranks wait for each other in different communicators: rank 0 in collective 3 of "
            "world, barrier, which rank 1 has not begun; rank 1 in collective 0 of world.1.0, "
            "broadcast of 4 i64 from rank 0, which rank 0 has not begun (every rank must ask for "
            "the collectives of all its communicators in one order)");
  std::swap(circle[0], circle[1]);
  EXPECT_EQ(circle_text(circle), text);
}

TEST(BlockedCircle, EndsAtARankThatMayStillCome) {
  Notes notes = two_communicators();
  for (const int rank : {1, 2}) notes[rank].front().asked["world"] = 4;  // they have begun it
  EXPECT_THAT(circle_of(0, notes), testing::IsEmpty());
  notes = two_communicators();
  for (const int rank : {1, 2}) notes[rank].front().asked.erase("world");  // another thread uses it
  EXPECT_THAT(circle_of(0, notes), testing::IsEmpty());
  notes = two_communicators();
  notes[0].front().asked["world.1.0"] = 1;
  EXPECT_THAT(circle_of(0, notes), testing::IsEmpty());
  notes = two_communicators();
  for (const int rank : {1, 2}) notes.erase(rank);  // they do not wait
  EXPECT_THAT(circle_of(0, notes), testing::IsEmpty());
}

// Each rank waits in a group of its own with the next one. Rank 0 has a second thread that waits,
// and is asked about after ranks that lead nowhere.
// docs/acceptance.md, Disagreement and misuse: A circle of waiting threads is found through any
// number of ranks.
TEST(BlockedCircle, GoesThroughManyRanks) {
  constexpr int kRanks = 9;
  Notes notes;
  for (int rank = 0; rank < kRanks; ++rank) {
    const int before = (rank + kRanks - 1) % kRanks;
    notes[rank].push_back({.group = "pair" + std::to_string(rank),
                           .sequence = 5,
                           .awaited = {77, 78, (rank + 1) % kRanks},
                           .asked = {{"pair" + std::to_string(before), 5}}});
  }
  notes[0].push_back({.group = "other", .sequence = 0, .awaited = {1}, .asked = {}});
  EXPECT_THAT(circle_of(0, notes), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(circle_of(4, notes), testing::ElementsAre(4, 5, 6, 7, 8, 0, 1, 2, 3));
  EXPECT_THAT(circle_of(0, notes, 8), testing::IsEmpty());  // of ten looks two are wasted
  notes[0].front().asked.clear();
  EXPECT_THAT(circle_of(4, notes), testing::IsEmpty());
}

TEST(BlockedNotes, TravelAsText) {
  Notes notes = two_communicators();
  notes[0].front().what = "barrier 'of two\nlines'";
  std::vector<BlockedNote> both = {notes[0].front(), notes[1].front()};
  const std::vector<BlockedNote> read = blocked_notes_of(to_text(both));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].what, "barrier 'of two lines'");
  EXPECT_THAT(read[0].awaited, testing::ElementsAre(1, 2));
  EXPECT_EQ(read[0].asked, both[0].asked);
  EXPECT_EQ(read[1].group, "world.1.0");
  EXPECT_EQ(read[1].sequence, 0U);
  for (const char* const other : {"", "world 3", "world 3\n\n\n", "world x\n\n\n\n", "\n\n\n\n",
                                  "world 3\n1 x\n\n\n", "world 3\n1\nworld -1\nbarrier\n"}) {
    EXPECT_THAT(blocked_notes_of(other), testing::IsEmpty()) << other;
  }
}

TEST(BlockedNotes, TellWhatTheirThreadHasAskedForElsewhere) {
  test::MemoryStoreServer server;
  const auto store = server.connect(0);
  BlockedNotes notes(*store, 4);
  const auto self = std::this_thread::get_id();
  notes.add("world", [&] { return BlockedNotes::Asked{7, self}; });
  EXPECT_FALSE(notes.has_groups());
  notes.add("world.1.0", [&] { return BlockedNotes::Asked{2, self}; });
  notes.add("world.2.0", [&] { return BlockedNotes::Asked{3, {}}; });  // another thread's
  EXPECT_TRUE(notes.has_groups());
  const BlockedNote own = notes.show({.group = "world", .sequence = 6, .awaited = {0}}, self);
  EXPECT_THAT(own.asked, testing::ElementsAre(testing::Pair("world.1.0", 2)));
  ASSERT_EQ(notes.find(4).size(), 1U);
  EXPECT_EQ(notes.find(4).front().asked, own.asked);
  EXPECT_THAT(notes.find(5), testing::IsEmpty());
  notes.forget("world.1.0");  // waits nowhere there
  EXPECT_EQ(notes.find(4).size(), 1U);
  notes.forget("world");
  EXPECT_EQ(store->find("comm/blocked/4."), std::nullopt);
  notes.remove("world.1.0");
  notes.remove("world.2.0");
  EXPECT_FALSE(notes.has_groups());
  store->goodbye();
}

}  // namespace
}  // namespace bp
