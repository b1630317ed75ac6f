// Ranks that wait for each other in a cycle, as opposed to ranks that are only late.
// docs/acceptance.md, Messages: Ranks that wait for each other's messages in a circle are named. A
// late rank is none.
#include "comm/message/circle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace bp {
namespace {

using Kind = WaitNote::Kind;

// Rank 0 waits to receive from 1, 1 from 2, and 2 from 0. Nothing is in flight.
std::map<int, WaitNote> circle_of_three() {
  std::map<int, WaitNote> notes;
  for (int rank = 0; rank < 3; ++rank) {
    notes[rank] = {.kind = Kind::receive,
                   .peer = (rank + 1) % 3,
                   .posted = {4, 4, 4},
                   .handled = {4, 4, 4},
                   .what = "message"};
  }
  return notes;
}

NoteOf from(const std::map<int, WaitNote>& notes) {
  return [&notes](int rank) -> std::optional<WaitNote> {
    const auto found = notes.find(rank);
    return found == notes.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Circle, NotesSurviveTheirText) {
  const WaitNote note{.kind = Kind::send,
                      .peer = 2,
                      .number = 7,
                      .posted = {1, 2},
                      .handled = {3},
                      .unreceived = {{0, 4}, {1, 9}},
                      .what = "message of 3 f32\n'odd name'"};
  const auto back = wait_note_of(to_text(note));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, note.kind);
  EXPECT_EQ(back->peer, note.peer);
  EXPECT_EQ(back->number, note.number);
  EXPECT_EQ(back->posted, note.posted);
  EXPECT_EQ(back->handled, note.handled);
  EXPECT_EQ(back->unreceived, note.unreceived);
  EXPECT_EQ(back->what, note.what);
  EXPECT_FALSE(wait_note_of("nothing of the kind"));
}

TEST(Circle, NotesOfAKindThatDoesNotExistAreNone) {
  const std::string rest = " 1 0\n0\n0\n0\nmessage";
  EXPECT_TRUE(wait_note_of("3" + rest));
  for (const char* const kind : {"-1", "4", "256"}) EXPECT_FALSE(wait_note_of(kind + rest)) << kind;
}

TEST(Circle, OfReceivesIsFoundByEachOfItsRanks) {
  const auto notes = circle_of_three();
  for (int rank = 0; rank < 3; ++rank) {
    const auto circle = find_circle(rank, 0, from(notes));
    ASSERT_TRUE(circle);
    EXPECT_TRUE(circle->is_closed);
    EXPECT_EQ(circle->ranks.size(), 3U);
    EXPECT_EQ(circle->ranks.front().first, rank);
  }
}

TEST(Circle, NeedsANoteOfEachRank) {
  auto notes = circle_of_three();
  notes.erase(2);
  EXPECT_FALSE(find_circle(0, 0, from(notes)));
}

TEST(Circle, IsNoneWhileAPacketIsInFlight) {
  auto notes = circle_of_three();
  notes[2].posted[1] = 5;  // for rank 1, which has handled 4 packets
  for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(find_circle(rank, 0, from(notes)));
}

TEST(Circle, OfASendNeedsTheMessageToWaitAtItsReceiver) {
  auto notes = circle_of_three();
  notes[0].kind = Kind::send;
  notes[0].number = 6;
  EXPECT_FALSE(find_circle(0, 0, from(notes)));
  notes[1].unreceived.emplace(0, 6);
  EXPECT_TRUE(find_circle(0, 0, from(notes)));
}

TEST(Circle, LeadsIntoARankThatHasFinished) {
  auto notes = circle_of_three();
  notes[2].kind = Kind::finished;
  const auto circle = find_circle(0, 0, from(notes));
  ASSERT_TRUE(circle);
  EXPECT_FALSE(circle->is_closed);
  EXPECT_EQ(circle->ranks.back().first, 2);
}

TEST(Circle, LeadsIntoACollectiveThatThisRankHasNotBegun) {
  auto notes = circle_of_three();
  notes[1] = {.kind = Kind::collective, .number = 3, .posted = {4, 4, 4}, .handled = {4, 4, 4}};
  EXPECT_TRUE(find_circle(0, 3, from(notes)));
  EXPECT_FALSE(find_circle(0, 4, from(notes)));  // this rank already takes part, asynchronously
  // rank 1 itself is in the collective, not in a message
  EXPECT_FALSE(find_circle(1, 3, from(notes)));
}

TEST(Circle, IsNotSeenThroughAReceiveFromAnyRank) {
  auto notes = circle_of_three();
  notes[1].peer = -1;
  EXPECT_FALSE(find_circle(0, 0, from(notes)));
}

// A chain that leads into a cycle of other ranks is reported by those ranks only.
TEST(Circle, OfOtherRanksHoldsOnlyThose) {
  auto notes = circle_of_three();
  notes[0].peer = 1;
  notes[1].peer = 2;
  notes[2].peer = 1;
  const auto circle = find_circle(0, 0, from(notes));
  ASSERT_TRUE(circle);
  EXPECT_EQ(circle->ranks.size(), 2U);
  EXPECT_EQ(circle->ranks.front().first, 1);
}

}  // namespace
}  // namespace bp
