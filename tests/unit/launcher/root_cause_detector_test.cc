// The rules by which the first failure of a job is found. It is over 400 lines because each rule
// has its test, and a rule can only be judged beside the others.
#include "launcher/failure/root_cause_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Event = StoreEvent::Kind;
using Kind = RootCause::Kind;

constexpr int exit_status(int code) { return code << 8; }
constexpr int kSegv = 11;

// A detector of three ranks. Times are in milliseconds.
class RootCauseDetectorTest : public testing::Test {
 protected:
  static RootCauseDetector::Time at(int ms) {
    return RootCauseDetector::Time{} + std::chrono::milliseconds(ms);
  }
  void join_all() {
    for (int rank = 0; rank < 3; ++rank) {
      report(0, Event::joined, rank);
    }
  }
  void report(int ms, Event kind, int rank, int cause = -1, const char* text = "") {
    detector.store_event({kind, rank, {cause, text}}, at(ms));
  }
  void end(int ms, int rank, int status) { detector.rank_ended(rank, status, at(ms)); }

  RootCauseDetector detector{3};
};

TEST_F(RootCauseDetectorTest, FindsNothingWhileNoRankFails) {
  join_all();
  EXPECT_FALSE(detector.root_cause(at(100'000)));
  for (int rank = 0; rank < 3; ++rank) {
    report(200'000, Event::goodbye, rank);
    end(200'001, rank, 0);
  }
  EXPECT_FALSE(detector.latest());
  EXPECT_FALSE(detector.root_cause(at(300'000)));
}

TEST_F(RootCauseDetectorTest, ASilentRankIsNoFailure) {
  join_all();
  report(10, Event::silent, 1);
  EXPECT_FALSE(detector.latest());
  report(20, Event::back, 1);
  EXPECT_FALSE(detector.root_cause(at(100'000)));
}

TEST_F(RootCauseDetectorTest, NamesAProgramWithoutTheStoreAtOnce) {
  end(10, 1, exit_status(7));
  EXPECT_EQ(detector.root_cause(at(10)),
            (RootCause{.kind = Kind::ended, .rank = 1, .status = exit_status(7)}));
}

// docs/acceptance.md, Failures: The first failure is reported, not its consequences.
TEST_F(RootCauseDetectorTest, FirstFailureWins) {
  end(10, 2, exit_status(5));
  end(11, 0, exit_status(7));
  EXPECT_EQ(detector.root_cause(at(11))->rank, 2);
}

TEST_F(RootCauseDetectorTest, WaitsForWhatARankMayHaveReportedToTheStore) {
  join_all();
  end(10, 1, kSegv);
  EXPECT_FALSE(detector.root_cause(at(10))) << "the store has not reported the end of rank 1 yet";
  report(11, Event::lost, 1);
  EXPECT_EQ(detector.root_cause(at(11))->rank, 1);
}

TEST_F(RootCauseDetectorTest, WaitsForTheCauseOfAConsequence) {
  join_all();
  report(10, Event::consequence, 0, 1, "peer 1 is gone");
  report(11, Event::lost, 0);
  end(12, 0, exit_status(1));
  EXPECT_FALSE(detector.root_cause(at(100)));
  report(200, Event::lost, 1);
  EXPECT_FALSE(detector.root_cause(at(201)));
  end(210, 1, kSegv);
  const auto root_cause = detector.root_cause(at(210));
  ASSERT_TRUE(root_cause);
  EXPECT_EQ(root_cause->rank, 1);
  EXPECT_EQ(root_cause->status, kSegv);
}

TEST_F(RootCauseDetectorTest, DoesNotWaitForRanksThatHaveNamedTheirCause) {
  join_all();
  end(10, 1, kSegv);
  report(11, Event::lost, 1);
  report(12, Event::consequence, 0, 1, "");
  report(13, Event::consequence, 2, 1, "");
  const auto root_cause = detector.root_cause(at(13));
  ASSERT_TRUE(root_cause) << "ranks 0 and 2 still run";
  EXPECT_EQ(root_cause->rank, 1);
}

TEST_F(RootCauseDetectorTest, NamesTheConsequenceWhenNoCauseComes) {
  join_all();
  report(10, Event::consequence, 0, 1, "no answer from rank 1");
  report(11, Event::lost, 0);
  end(12, 0, exit_status(3));
  EXPECT_FALSE(detector.root_cause(at(1509)));
  EXPECT_EQ(detector.root_cause(at(1510)), (RootCause{.kind = Kind::consequence,
                                                      .rank = 0,
                                                      .status = exit_status(3),
                                                      .because_of = 1,
                                                      .declared = "no answer from rank 1"}));
}

TEST_F(RootCauseDetectorTest, LeavingWithoutGoodbyeIsAFailure) {
  join_all();
  end(10, 2, 0);
  report(11, Event::lost, 2);
  report(12, Event::consequence, 0, 2, "");
  report(13, Event::lost, 0);
  end(14, 0, exit_status(1));
  EXPECT_FALSE(detector.root_cause(at(400)));
  EXPECT_EQ(detector.root_cause(at(510)), (RootCause{.kind = Kind::left, .rank = 2}));
}

TEST_F(RootCauseDetectorTest, LeavingIsTheCauseEvenIfAllOthersHaveFailedBecauseOfIt) {
  join_all();
  end(10, 2, 0);
  report(11, Event::lost, 2);
  for (int rank = 0; rank < 2; ++rank) {
    report(12, Event::consequence, rank, 2, "");
    report(13, Event::lost, rank);
    end(14, rank, exit_status(1));
  }
  EXPECT_EQ(detector.root_cause(at(510))->rank, 2);
}

TEST_F(RootCauseDetectorTest, LeavingIsFineWhenAllLeave) {
  join_all();
  for (int rank = 0; rank < 3; ++rank) {
    end(10 + rank, rank, 0);
    report(20 + rank, Event::lost, rank);
  }
  EXPECT_FALSE(detector.root_cause(at(1000)));
}

TEST_F(RootCauseDetectorTest, LeavingIsFineWhenTheOthersSayGoodbye) {
  join_all();
  report(10, Event::goodbye, 0);
  for (int rank = 0; rank < 3; ++rank) {
    end(11 + rank, rank, 0);
  }
  report(20, Event::lost, 1);
  EXPECT_TRUE(detector.latest()) << "a goodbye of rank 2 may still come";
  report(21, Event::lost, 2);
  EXPECT_FALSE(detector.latest());
}

TEST_F(RootCauseDetectorTest, LeavingIsFineWhenAllLeaveAndSomeNotice) {
  join_all();
  end(10, 1, 0);
  report(11, Event::lost, 1);
  report(12, Event::consequence, 0, 1, "rank 1 is gone");
  report(13, Event::consequence, 2, 1, "rank 1 is gone");
  end(14, 0, 0);
  report(14, Event::lost, 0);
  end(15, 2, 0);
  EXPECT_TRUE(detector.latest()) << "a goodbye may still come";
  report(16, Event::lost, 2);
  EXPECT_FALSE(detector.latest());
  EXPECT_FALSE(detector.root_cause(at(2'000)));
  EXPECT_THAT(detector.left_without_goodbye(), ElementsAre(0, 1, 2));
}

TEST_F(RootCauseDetectorTest, ARankThatLeftIsNamedThoughItNoticedAnother) {
  join_all();
  report(10, Event::consequence, 0, 1, "rank 1 is gone");
  report(10, Event::consequence, 1, 0, "rank 0 is gone");
  report(11, Event::consequence, 2, 1, "rank 1 is gone");
  end(12, 1, 0);
  end(13, 0, 0);
  report(13, Event::lost, 0);
  report(13, Event::lost, 1);
  end(14, 2, exit_status(70));
  report(15, Event::lost, 2);
  EXPECT_EQ(detector.root_cause(at(1'514)), (RootCause{.kind = Kind::left, .rank = 1}));
}

// docs/acceptance.md, Failures: An aborted job fails although all ranks end with 0.
TEST_F(RootCauseDetectorTest, AnAbortIsAFailureThoughAllEndWith0) {
  join_all();
  report(10, Event::failed, 1, 1, "enough");
  for (int rank = 0; rank < 3; ++rank) {
    report(11, Event::lost, rank);
    end(12, rank, 0);
  }
  EXPECT_TRUE(detector.latest());
  EXPECT_EQ(detector.root_cause(at(1510)),
            (RootCause{.kind = Kind::declared, .rank = 1, .declared = "enough"}));
}

TEST_F(RootCauseDetectorTest, AGoodbyeAfterTheEndClearsTheSuspicion) {
  join_all();
  end(10, 2, 0);
  EXPECT_TRUE(detector.latest());
  report(20, Event::goodbye, 2);
  EXPECT_FALSE(detector.latest());
  end(5'000, 1, exit_status(4));
  EXPECT_FALSE(detector.root_cause(at(5'000))) << "a new suspicion has its own time limit";
}

TEST_F(RootCauseDetectorTest, AFailureAfterGoodbyeCounts) {
  join_all();
  report(5, Event::goodbye, 2);
  end(10, 2, exit_status(3));
  EXPECT_EQ(detector.root_cause(at(10))->status, exit_status(3));
}

TEST_F(RootCauseDetectorTest, NamesARankThatDeclaredTheJobFailedAndKeepsRunning) {
  join_all();
  report(10, Event::failed, 1, 1, "out of memory");
  EXPECT_FALSE(detector.root_cause(at(1509)));
  EXPECT_EQ(detector.root_cause(at(1510)),
            (RootCause{.kind = Kind::declared, .rank = 1, .declared = "out of memory"}));
}

TEST_F(RootCauseDetectorTest, NamesARankThatLostTheStoreAndKeepsRunning) {
  join_all();
  report(10, Event::lost, 1);
  EXPECT_EQ(detector.root_cause(at(1510)), (RootCause{.kind = Kind::lost_store, .rank = 1}));
}

TEST_F(RootCauseDetectorTest, SavedIsNoFailureOnceARankHasAskedToStop) {
  join_all();
  report(5, Event::stop_requested, 0);
  for (int rank = 0; rank < 2; ++rank) {
    report(10, Event::goodbye, rank);
    end(11, rank, exit_status(75));
  }
  EXPECT_FALSE(detector.root_cause(at(10'000)));
  report(20'000, Event::goodbye, 2);
  end(20'001, 2, kSegv);
  EXPECT_EQ(detector.root_cause(at(20'001))->rank, 2)
      << "a rank that dies while it saves has failed";
}

TEST_F(RootCauseDetectorTest, ObserversCountAsNoRank) {
  report(10, Event::joined, -1);
  report(11, Event::lost, -1);
  EXPECT_FALSE(detector.root_cause(at(10'000)));
}

TEST_F(RootCauseDetectorTest, AnEventOfARankBeyondTheWorldIsIgnored) {
  for (const int rank : {3, 4, 1000}) {
    report(10, Event::joined, rank);
    report(11, Event::lost, rank);
  }
  EXPECT_FALSE(detector.any_joined());
  EXPECT_FALSE(detector.latest());
}

TEST_F(RootCauseDetectorTest, SavedIsAFailureWhereNoRankHasAskedToStop) {
  end(10, 1, exit_status(75));
  EXPECT_EQ(detector.root_cause(at(10))->status, exit_status(75));
}

TEST_F(RootCauseDetectorTest, AnotherCodeThanSavedIsAFailureThoughARankHasAskedToStop) {
  report(5, Event::stop_requested, 0);
  end(10, 1, exit_status(1));
  EXPECT_EQ(detector.root_cause(at(10))->status, exit_status(1));
}

TEST_F(RootCauseDetectorTest, ARankThatDeclaredAndEndedIsNamedWithItsText) {
  join_all();
  report(10, Event::failed, 1, 1, "out of memory");
  report(11, Event::lost, 1);
  end(12, 1, exit_status(4));
  EXPECT_EQ(
      detector.root_cause(at(12)),
      (RootCause{
          .kind = Kind::ended, .rank = 1, .status = exit_status(4), .declared = "out of memory"}));
}

TEST_F(RootCauseDetectorTest, ARunningRankThatDeclaredAFailureMayStillHaveBeenFirst) {
  join_all();
  report(10, Event::failed, 0, 0, "the disk is full");
  end(11, 1, kSegv);
  report(12, Event::lost, 1);
  EXPECT_FALSE(detector.root_cause(at(509)));
  EXPECT_EQ(detector.root_cause(at(510))->rank, 1) << "rank 0 had half a second to end";
}

TEST_F(RootCauseDetectorTest, ARunningRankThatLostTheStoreMayStillHaveBeenFirst) {
  join_all();
  report(10, Event::lost, 0);
  end(11, 1, kSegv);
  report(12, Event::lost, 1);
  EXPECT_FALSE(detector.root_cause(at(509)));
  EXPECT_EQ(detector.root_cause(at(510))->rank, 1);
}

TEST_F(RootCauseDetectorTest, AConsequenceOfARankThatLeftProperlySaysSo) {
  join_all();
  report(10, Event::goodbye, 1);
  end(11, 1, 0);
  report(12, Event::consequence, 0, 1, "rank 1 asked for nothing more");
  report(13, Event::lost, 0);
  end(14, 0, exit_status(1));
  EXPECT_EQ(detector.root_cause(at(1'512)), (RootCause{.kind = Kind::consequence,
                                                       .rank = 0,
                                                       .status = exit_status(1),
                                                       .because_of = 1,
                                                       .declared = "rank 1 asked for nothing more",
                                                       .cause_has_ended = true}));
}

TEST_F(RootCauseDetectorTest, OfSeveralConsequencesTheFirstToEndIsNamed) {
  for (const auto& [first, second] : {std::pair{0, 2}, {2, 0}}) {
    detector = RootCauseDetector{3};
    join_all();
    report(10, Event::consequence, 0, 1);
    report(11, Event::consequence, 2, 1);
    report(12, Event::lost, first);
    end(13, first, exit_status(1));
    report(14, Event::lost, second);
    end(15, second, exit_status(1));
    EXPECT_EQ(
        detector.root_cause(at(1'510)),
        (RootCause{
            .kind = Kind::consequence, .rank = first, .status = exit_status(1), .because_of = 1}));
  }
}

TEST_F(RootCauseDetectorTest, LeavingIsFineOnceAllOthersHaveSaidGoodbye) {
  join_all();
  report(5, Event::goodbye, 0);
  report(5, Event::goodbye, 1);
  end(10, 2, 0);
  report(11, Event::lost, 2);
  EXPECT_FALSE(detector.root_cause(at(100'000)));
}

TEST_F(RootCauseDetectorTest, LeavingIsAFailureWhileAnotherRankRuns) {
  join_all();
  report(5, Event::goodbye, 0);
  end(10, 1, 0);
  report(11, Event::lost, 1);
  EXPECT_EQ(detector.root_cause(at(510)), (RootCause{.kind = Kind::left, .rank = 1}))
      << "rank 2 still runs";
}

TEST_F(RootCauseDetectorTest, DoesNotWaitForARankThatLeftAndNamedItsCause) {
  join_all();
  report(10, Event::consequence, 0, 1, "rank 1 is gone");
  report(11, Event::lost, 0);
  end(12, 0, 0);
  end(13, 1, kSegv);
  report(14, Event::lost, 1);
  EXPECT_EQ(detector.root_cause(at(14)),
            (RootCause{.kind = Kind::ended, .rank = 1, .status = kSegv}));
}

TEST_F(RootCauseDetectorTest, ListsRanksThatLeftWithoutGoodbye) {
  report(0, Event::joined, 0);
  report(0, Event::joined, 2);
  report(10, Event::goodbye, 0);
  for (int rank = 0; rank < 3; ++rank) {
    end(11, rank, 0);
  }
  EXPECT_THAT(detector.left_without_goodbye(), ElementsAre(2)) << "rank 1 never joined";
}

TEST_F(RootCauseDetectorTest, ARankThatFailedHasNotLeft) {
  join_all();
  end(10, 0, 0);
  end(11, 1, exit_status(1));
  EXPECT_THAT(detector.left_without_goodbye(), ElementsAre(0));
}

TEST_F(RootCauseDetectorTest, NamesRanksThatNeverJoined) {
  EXPECT_THAT(detector.missing(at(100'000), 30s), IsEmpty())
      << "no rank has joined, so the program may not use bp";
  report(1'000, Event::joined, 1);
  EXPECT_THAT(detector.missing(at(30'999), 30s), IsEmpty());
  EXPECT_THAT(detector.missing(at(31'000), 30s), ElementsAre(0, 2));
  report(31'000, Event::joined, 0);
  report(31'000, Event::joined, 2);
  EXPECT_THAT(detector.missing(at(90'000), 30s), IsEmpty());
}

TEST_F(RootCauseDetectorTest, TimeInWhichTheJobIsStoppedDoesNotCountForJoining) {
  report(1'000, Event::joined, 1);
  detector.time_was_lost(1h);
  EXPECT_THAT(detector.missing(at(3'600'000 + 30'999), 30s), IsEmpty());
  EXPECT_THAT(detector.missing(at(3'600'000 + 31'000), 30s), ElementsAre(0, 2));
}

TEST_F(RootCauseDetectorTest, TimeInWhichTheJobIsStoppedDoesNotCountForTheCause) {
  join_all();
  report(10, Event::lost, 1);
  detector.time_was_lost(1h);
  EXPECT_FALSE(detector.root_cause(at(3'600'000 + 1'509)));
  EXPECT_EQ(detector.root_cause(at(3'600'000 + 1'510))->kind, Kind::lost_store);
}

}  // namespace
}  // namespace bp::launcher
