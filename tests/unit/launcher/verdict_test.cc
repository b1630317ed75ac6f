#include "launcher/job/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Event = StoreEvent::Kind;
using Kind = Verdict::Kind;

constexpr int exit_status(int code) { return code << 8; }
constexpr int kSegv = 11;

// A jury over three ranks, with time as a number of milliseconds.
class JuryTest : public testing::Test {
 protected:
  static Jury::Time at(int ms) { return Jury::Time{} + std::chrono::milliseconds(ms); }
  void join_all() {
    for (int rank = 0; rank < 3; ++rank) {
      tell(0, Event::joined, rank);
    }
  }
  void tell(int ms, Event kind, int rank, int cause = -1, const char* text = "") {
    jury.store_event({kind, rank, {cause, text}}, at(ms));
  }
  void end(int ms, int rank, int status) { jury.rank_ended(rank, status, at(ms)); }

  Jury jury{3};
};

TEST_F(JuryTest, IsSilentWhileNothingIsWrong) {
  join_all();
  EXPECT_FALSE(jury.verdict(at(100'000)));
  for (int rank = 0; rank < 3; ++rank) {
    tell(200'000, Event::goodbye, rank);
    end(200'001, rank, 0);
  }
  EXPECT_FALSE(jury.latest());
  EXPECT_FALSE(jury.verdict(at(300'000)));
}

TEST_F(JuryTest, ASilentRankIsNoFailure) {
  join_all();
  tell(10, Event::silent, 1);
  EXPECT_FALSE(jury.latest());
  tell(20, Event::back, 1);
  EXPECT_FALSE(jury.verdict(at(100'000)));
}

TEST_F(JuryTest, BlamesAForeignProgramAtOnce) {
  end(10, 1, exit_status(7));
  EXPECT_EQ(jury.verdict(at(10)),
            (Verdict{.kind = Kind::ended, .rank = 1, .status = exit_status(7)}));
}

TEST_F(JuryTest, FirstFailureWins) {
  end(10, 2, exit_status(5));
  end(11, 0, exit_status(7));
  EXPECT_EQ(jury.verdict(at(11))->rank, 2);
}

TEST_F(JuryTest, WaitsForWhatARankMayHaveToldTheStore) {
  join_all();
  end(10, 1, kSegv);
  EXPECT_FALSE(jury.verdict(at(10))) << "the store has not yet seen its end";
  tell(11, Event::lost, 1);
  EXPECT_EQ(jury.verdict(at(11))->rank, 1);
}

TEST_F(JuryTest, WaitsForTheCauseOfAConsequence) {
  join_all();
  tell(10, Event::consequence, 0, 1, "peer 1 is gone");
  tell(11, Event::lost, 0);
  end(12, 0, exit_status(1));
  EXPECT_FALSE(jury.verdict(at(100)));
  tell(200, Event::lost, 1);
  EXPECT_FALSE(jury.verdict(at(201)));
  end(210, 1, kSegv);
  const auto verdict = jury.verdict(at(210));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 1);
  EXPECT_EQ(verdict->status, kSegv);
}

TEST_F(JuryTest, DoesNotWaitForThoseThatHaveNamedTheirCause) {
  join_all();
  end(10, 1, kSegv);
  tell(11, Event::lost, 1);
  tell(12, Event::consequence, 0, 1, "");
  tell(13, Event::consequence, 2, 1, "");
  const auto verdict = jury.verdict(at(13));
  ASSERT_TRUE(verdict) << "ranks 0 and 2 still run";
  EXPECT_EQ(verdict->rank, 1);
}

TEST_F(JuryTest, NamesTheConsequenceWhenNoCauseComes) {
  join_all();
  tell(10, Event::consequence, 0, 1, "no answer from rank 1");
  tell(11, Event::lost, 0);
  end(12, 0, exit_status(3));
  EXPECT_FALSE(jury.verdict(at(1509)));
  EXPECT_EQ(jury.verdict(at(1510)), (Verdict{.kind = Kind::consequence,
                                             .rank = 0,
                                             .status = exit_status(3),
                                             .because_of = 1,
                                             .declared = "no answer from rank 1"}));
}

TEST_F(JuryTest, LeavingWithoutGoodbyeIsAFailure) {
  join_all();
  end(10, 2, 0);
  tell(11, Event::lost, 2);
  tell(12, Event::consequence, 0, 2, "");
  tell(13, Event::lost, 0);
  end(14, 0, exit_status(1));
  EXPECT_FALSE(jury.verdict(at(400)));
  EXPECT_EQ(jury.verdict(at(510)), (Verdict{.kind = Kind::left, .rank = 2}));
}

TEST_F(JuryTest, LeavingIsTheCauseEvenWhenAllOthersHaveFailedOfIt) {
  join_all();
  end(10, 2, 0);
  tell(11, Event::lost, 2);
  for (int rank = 0; rank < 2; ++rank) {
    tell(12, Event::consequence, rank, 2, "");
    tell(13, Event::lost, rank);
    end(14, rank, exit_status(1));
  }
  EXPECT_EQ(jury.verdict(at(510))->rank, 2);
}

TEST_F(JuryTest, LeavingIsFineWhenAllLeave) {
  join_all();
  for (int rank = 0; rank < 3; ++rank) {
    end(10 + rank, rank, 0);
    tell(20 + rank, Event::lost, rank);
  }
  EXPECT_FALSE(jury.verdict(at(1000)));
}

TEST_F(JuryTest, LeavingIsFineWhenAllLeaveAndSomeNotice) {
  join_all();
  end(10, 1, 0);
  tell(11, Event::lost, 1);
  tell(12, Event::consequence, 0, 1, "rank 1 is gone");
  tell(13, Event::consequence, 2, 1, "rank 1 is gone");
  end(14, 0, 0);
  tell(14, Event::lost, 0);
  end(15, 2, 0);
  EXPECT_TRUE(jury.latest()) << "a goodbye may still come";
  tell(16, Event::lost, 2);
  EXPECT_FALSE(jury.latest());
  EXPECT_FALSE(jury.verdict(at(2'000)));
  EXPECT_THAT(jury.left_without_goodbye(), ElementsAre(0, 1, 2));
}

TEST_F(JuryTest, ARankThatLeftIsNamedThoughItNoticedAnother) {
  join_all();
  tell(10, Event::consequence, 0, 1, "rank 1 is gone");
  tell(10, Event::consequence, 1, 0, "rank 0 is gone");
  tell(11, Event::consequence, 2, 1, "rank 1 is gone");
  end(12, 1, 0);
  end(13, 0, 0);
  tell(13, Event::lost, 0);
  tell(13, Event::lost, 1);
  end(14, 2, exit_status(70));
  tell(15, Event::lost, 2);
  EXPECT_EQ(jury.verdict(at(1'514)), (Verdict{.kind = Kind::left, .rank = 1}));
}

TEST_F(JuryTest, AnAbortIsAFailureThoughAllEndWith0) {
  join_all();
  tell(10, Event::failed, 1, 1, "enough");
  for (int rank = 0; rank < 3; ++rank) {
    tell(11, Event::lost, rank);
    end(12, rank, 0);
  }
  EXPECT_TRUE(jury.latest());
  EXPECT_EQ(jury.verdict(at(1510)),
            (Verdict{.kind = Kind::declared, .rank = 1, .declared = "enough"}));
}

TEST_F(JuryTest, AGoodbyeThatComesAfterTheEndClearsTheDoubt) {
  join_all();
  end(10, 2, 0);
  EXPECT_TRUE(jury.latest());
  tell(20, Event::goodbye, 2);
  EXPECT_FALSE(jury.latest());
  end(5'000, 1, exit_status(4));
  EXPECT_FALSE(jury.verdict(at(5'000))) << "a new doubt has its own patience";
}

TEST_F(JuryTest, AFailureAfterGoodbyeCounts) {
  join_all();
  tell(5, Event::goodbye, 2);
  end(10, 2, exit_status(3));
  EXPECT_EQ(jury.verdict(at(10))->status, exit_status(3));
}

TEST_F(JuryTest, NamesARankThatDeclaredTheJobFailedAndRunsOn) {
  join_all();
  tell(10, Event::failed, 1, 1, "out of memory");
  EXPECT_FALSE(jury.verdict(at(1509)));
  EXPECT_EQ(jury.verdict(at(1510)),
            (Verdict{.kind = Kind::declared, .rank = 1, .declared = "out of memory"}));
}

TEST_F(JuryTest, NamesARankThatLostTheStoreAndRunsOn) {
  join_all();
  tell(10, Event::lost, 1);
  EXPECT_EQ(jury.verdict(at(1510)), (Verdict{.kind = Kind::lost_store, .rank = 1}));
}

TEST_F(JuryTest, SavedIsNoFailureOnceARankHasAskedToStop) {
  join_all();
  tell(5, Event::stop_requested, 0);
  for (int rank = 0; rank < 2; ++rank) {
    tell(10, Event::goodbye, rank);
    end(11, rank, exit_status(75));
  }
  EXPECT_FALSE(jury.verdict(at(10'000)));
  tell(20'000, Event::goodbye, 2);
  end(20'001, 2, kSegv);
  EXPECT_EQ(jury.verdict(at(20'001))->rank, 2) << "dying while saving is one";
}

TEST_F(JuryTest, ObserversAreNobody) {
  tell(10, Event::joined, -1);
  tell(11, Event::lost, -1);
  EXPECT_FALSE(jury.verdict(at(10'000)));
}

TEST_F(JuryTest, AnEventOfARankBeyondTheWorldIsIgnored) {
  for (const int rank : {3, 4, 1000}) {
    tell(10, Event::joined, rank);
    tell(11, Event::lost, rank);
  }
  EXPECT_FALSE(jury.anyone_joined());
  EXPECT_FALSE(jury.latest());
}

TEST_F(JuryTest, SavedIsAFailureWhereNoRankHasAskedToStop) {
  end(10, 1, exit_status(75));
  EXPECT_EQ(jury.verdict(at(10))->status, exit_status(75));
}

TEST_F(JuryTest, AnotherCodeThanSavedIsAFailureThoughARankHasAskedToStop) {
  tell(5, Event::stop_requested, 0);
  end(10, 1, exit_status(1));
  EXPECT_EQ(jury.verdict(at(10))->status, exit_status(1));
}

TEST_F(JuryTest, ARankThatDeclaredAndEndedIsNamedWithItsText) {
  join_all();
  tell(10, Event::failed, 1, 1, "out of memory");
  tell(11, Event::lost, 1);
  end(12, 1, exit_status(4));
  EXPECT_EQ(
      jury.verdict(at(12)),
      (Verdict{
          .kind = Kind::ended, .rank = 1, .status = exit_status(4), .declared = "out of memory"}));
}

TEST_F(JuryTest, ARunningRankThatDeclaredAFailureMayStillHaveBeenFirst) {
  join_all();
  tell(10, Event::failed, 0, 0, "the disk is full");
  end(11, 1, kSegv);
  tell(12, Event::lost, 1);
  EXPECT_FALSE(jury.verdict(at(509)));
  EXPECT_EQ(jury.verdict(at(510))->rank, 1) << "rank 0 had half a second to end";
}

TEST_F(JuryTest, ARankWithoutStoreThatRunsMayStillHaveBeenFirst) {
  join_all();
  tell(10, Event::lost, 0);
  end(11, 1, kSegv);
  tell(12, Event::lost, 1);
  EXPECT_FALSE(jury.verdict(at(509)));
  EXPECT_EQ(jury.verdict(at(510))->rank, 1);
}

TEST_F(JuryTest, TheConsequenceOfARankThatLeftInGoodOrderSaysSo) {
  join_all();
  tell(10, Event::goodbye, 1);
  end(11, 1, 0);
  tell(12, Event::consequence, 0, 1, "rank 1 asked for nothing more");
  tell(13, Event::lost, 0);
  end(14, 0, exit_status(1));
  EXPECT_EQ(jury.verdict(at(1'512)), (Verdict{.kind = Kind::consequence,
                                              .rank = 0,
                                              .status = exit_status(1),
                                              .because_of = 1,
                                              .declared = "rank 1 asked for nothing more",
                                              .cause_has_ended = true}));
}

TEST_F(JuryTest, OfConsequencesTheFirstThatEndedIsNamed) {
  for (const auto& [first, second] : {std::pair{0, 2}, {2, 0}}) {
    jury = Jury{3};
    join_all();
    tell(10, Event::consequence, 0, 1);
    tell(11, Event::consequence, 2, 1);
    tell(12, Event::lost, first);
    end(13, first, exit_status(1));
    tell(14, Event::lost, second);
    end(15, second, exit_status(1));
    EXPECT_EQ(
        jury.verdict(at(1'510)),
        (Verdict{
            .kind = Kind::consequence, .rank = first, .status = exit_status(1), .because_of = 1}));
  }
}

TEST_F(JuryTest, LeavingIsFineOnceAllOthersHaveSaidGoodbye) {
  join_all();
  tell(5, Event::goodbye, 0);
  tell(5, Event::goodbye, 1);
  end(10, 2, 0);
  tell(11, Event::lost, 2);
  EXPECT_FALSE(jury.verdict(at(100'000)));
}

TEST_F(JuryTest, LeavingIsAFailureWhileOneOtherIsAtWork) {
  join_all();
  tell(5, Event::goodbye, 0);
  end(10, 1, 0);
  tell(11, Event::lost, 1);
  EXPECT_EQ(jury.verdict(at(510)), (Verdict{.kind = Kind::left, .rank = 1})) << "rank 2 is";
}

TEST_F(JuryTest, DoesNotWaitForOneThatLeftAndNamedItsCause) {
  join_all();
  tell(10, Event::consequence, 0, 1, "rank 1 is gone");
  tell(11, Event::lost, 0);
  end(12, 0, 0);
  end(13, 1, kSegv);
  tell(14, Event::lost, 1);
  EXPECT_EQ(jury.verdict(at(14)), (Verdict{.kind = Kind::ended, .rank = 1, .status = kSegv}));
}

TEST_F(JuryTest, ListsWhoLeftWithoutGoodbye) {
  tell(0, Event::joined, 0);
  tell(0, Event::joined, 2);
  tell(10, Event::goodbye, 0);
  for (int rank = 0; rank < 3; ++rank) {
    end(11, rank, 0);
  }
  EXPECT_THAT(jury.left_without_goodbye(), ElementsAre(2)) << "rank 1 never joined";
}

TEST_F(JuryTest, NamesWhoNeverJoined) {
  EXPECT_THAT(jury.missing(at(100'000), 30s), IsEmpty()) << "nobody did: not our library";
  tell(1'000, Event::joined, 1);
  EXPECT_THAT(jury.missing(at(30'999), 30s), IsEmpty());
  EXPECT_THAT(jury.missing(at(31'000), 30s), ElementsAre(0, 2));
  tell(31'000, Event::joined, 0);
  tell(31'000, Event::joined, 2);
  EXPECT_THAT(jury.missing(at(90'000), 30s), IsEmpty());
}

TEST_F(JuryTest, TimeInWhichTheJobStoodStillDoesNotCount) {
  tell(1'000, Event::joined, 1);
  jury.time_was_lost(1h);
  EXPECT_THAT(jury.missing(at(3'600'000 + 30'999), 30s), IsEmpty());
  EXPECT_THAT(jury.missing(at(3'600'000 + 31'000), 30s), ElementsAre(0, 2));
}

TEST_F(JuryTest, TimeInWhichTheJobStoodStillIsNoPatienceSpent) {
  join_all();
  tell(10, Event::lost, 1);
  jury.time_was_lost(1h);
  EXPECT_FALSE(jury.verdict(at(3'600'000 + 1'509)));
  EXPECT_EQ(jury.verdict(at(3'600'000 + 1'510))->kind, Kind::lost_store);
}

}  // namespace
}  // namespace bp::launcher
