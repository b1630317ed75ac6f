// How a job ends through the store: failures, lost ranks, stops and goodbyes.
#include <future>
#include <map>

#include "tests/unit/store_fixture.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The failure that a client's listener receives.
class FailureListener {
 public:
  explicit FailureListener(Store& store) : store_(store) {
    store_.on_job_failure([this](const JobFailure& failure) { failure_.set_value(failure); });
  }
  ~FailureListener() { store_.on_job_failure({}); }
  FailureListener(const FailureListener&) = delete;
  FailureListener& operator=(const FailureListener&) = delete;

  JobFailure get() {
    auto future = failure_.get_future();
    if (future.wait_for(kSoon) != std::future_status::ready) {
      return {.cause = -99, .text = "the listener was not called"};
    }
    return future.get();
  }

 private:
  Store& store_;
  std::promise<JobFailure> failure_;
};

class StoreFailureTest : public StoreTest {};

TEST_F(StoreFailureTest, OwnerReadsTheValuesOfRanksForItsReport) {
  const auto rank = client(1);
  rank->set("report/1.", "barrier");
  rank->set("report/2.", "all_reduce");
  rank->set("reports", "another key");
  using Values = std::map<std::string, std::string>;
  EXPECT_EQ(server_->values("report/"),
            (Values{{"report/1.", "barrier"}, {"report/2.", "all_reduce"}}));
  EXPECT_EQ(server_->values("nothing"), Values{});
  rank->goodbye();
}

TEST_F(StoreFailureTest, FailureIsPushedToAllClientsAndEndsWaits) {
  const auto failing = client(1);
  const auto waiting = client(2);
  FailureListener heard(*waiting);
  auto wait = std::async(std::launch::async, [&] {
    return error_of([&] { return waiting->get("never", kSoon * 10); });
  });
  failing->fail_job({.cause = 1, .text = "rank 1: loss is NaN"});
  EXPECT_EQ(wait.get(),
            concat("aborted: rank 2, get \"never\" at the store ", server_->address().text(),
                   ": the job has failed: rank 1: loss is NaN"));
  const JobFailure failure = heard.get();
  EXPECT_EQ(failure.cause, 1);
  EXPECT_EQ(failure.text, "rank 1: loss is NaN");
  EXPECT_EQ(waiting->job_failure()->cause, 1);
  EXPECT_THAT(
      events_.until("consequence 2 because of 1"),
      ElementsAre("joined 1", "joined 2", "failed 1 because of 1", "consequence 2 because of 1"));
}

TEST_F(StoreFailureTest, AfterAFailureWaitsAreRefusedAndTheRestWorks) {
  const auto store = client(0);
  store->set("key", "value");
  FailureListener heard(*store);
  server_->fail_job({.cause = -1, .text = "host b is gone"});
  EXPECT_EQ(heard.get().cause, -1);
  EXPECT_THAT(error_of([&] { return store->get("key", 0ms); }),
              AllOf(StartsWith("aborted: "), EndsWith("host b is gone")));
  EXPECT_EQ(store->find("key"), "value");
}

TEST_F(StoreFailureTest, FirstFailureIsKept) {
  const auto first = client(1);
  const auto second = client(2);
  first->fail_job({.cause = 1, .text = "first"});
  second->fail_job({.cause = 2, .text = "second"});
  FailureListener heard(*second);
  EXPECT_EQ(heard.get().text, "first");
}

TEST_F(StoreFailureTest, LateClientGetsTheFailureAtOnce) {
  client(1)->fail_job({.cause = 1, .text = "early"});
  const auto late = client(2);
  ASSERT_TRUE(late->job_failure().has_value());
  EXPECT_EQ(late->job_failure()->text, "early");
  FailureListener heard(*late);
  EXPECT_EQ(heard.get().text, "early");
}

TEST_F(StoreFailureTest, ExitBecauseOfAnotherRankIsAConsequence) {
  const auto store = client(2);
  store->fail_job({.cause = 1, .text = "rank 1 closed its connection"});
  store->goodbye();
  EXPECT_THAT(events_.until("goodbye 2"),
              ElementsAre("joined 2", "consequence 2 because of 1", "goodbye 2"));
}

TEST_F(StoreFailureTest, ExitAfterAnotherRanksFailureIsAConsequence) {
  const auto first = client(1);
  const auto second = client(2);
  FailureListener heard(*second);
  first->fail_job({.cause = 1, .text = "enough"});
  EXPECT_EQ(heard.get().cause, 1);
  second->goodbye();
  EXPECT_THAT(events_.until("goodbye 2"),
              ElementsAre("joined 1", "joined 2", "failed 1 because of 1",
                          "consequence 2 because of 1", "goodbye 2"));
}

TEST_F(StoreFailureTest, RankLostWithoutGoodbyeFailsTheJob) {
  auto lost = client(3);
  const auto left = client(4);
  const auto observer = client();
  FailureListener heard(*left);
  FailureListener observed(*observer);
  lost.reset();
  const JobFailure failure = heard.get();
  EXPECT_EQ(failure.cause, 3);
  EXPECT_EQ(failure.text,
            "rank 3 lost: the store's connection to it ended without goodbye (it closed its "
            "connection)");
  EXPECT_EQ(observed.get().cause, 3);
  EXPECT_THAT(
      events_.until("consequence 4 because of 3"),
      ElementsAre("joined 3", "joined 4", "lost 3 because of 3", "consequence 4 because of 3"));
}

TEST_F(StoreFailureTest, ObserverCanLeaveAtAnyTime) {
  client().reset();
  const auto store = client(0);
  store->set("a", "1");
  EXPECT_FALSE(store->job_failure().has_value());
}

// docs/acceptance.md, Store: Rank 0 may leave first, because the launcher owns the store.
TEST_F(StoreFailureTest, RankZeroCanLeaveFirst) {
  std::vector<std::unique_ptr<Store>> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(client(rank));
  }
  for (int rank = 0; rank < 4; ++rank) {
    for (int left = rank; left < 4; ++left) {
      ranks[static_cast<std::size_t>(left)]->set("still", "here");
    }
    ranks[static_cast<std::size_t>(rank)]->goodbye();
    ranks[static_cast<std::size_t>(rank)].reset();
  }
  EXPECT_THAT(events_.until("goodbye 3"),
              ElementsAre("joined 0", "joined 1", "joined 2", "joined 3", "goodbye 0", "goodbye 1",
                          "goodbye 2", "goodbye 3"));
}

// docs/acceptance.md, Store: After finish() only local calls of a store client work.
TEST_F(StoreFailureTest, OnlyLocalCallsWorkAfterGoodbye) {
  const auto store = client(0);
  FailureListener heard(*store);
  store->goodbye();
  EXPECT_EQ(error_of([&] { store->set("a", ""); }),
            concat("invalid_argument: rank 0, set \"a\" at the store ", server_->address().text(),
                   ": called after goodbye()"));
  EXPECT_FALSE(store->stop_requested());
  server_.reset();
  EXPECT_FALSE(store->job_failure().has_value())
      << "the server can end once all ranks have said goodbye";
}

// docs/acceptance.md, Store: A rank can connect to the store again after finish().
TEST_F(StoreFailureTest, RankCanReconnectAfterGoodbye) {
  const auto first = client(0);
  first->goodbye();
  const auto second = client(0);
  second->set("a", "");
  second->goodbye();
  EXPECT_THAT(events_.until("goodbye 0"),
              ElementsAre("joined 0", "goodbye 0", "joined 0", "goodbye 0"));
}

// docs/acceptance.md, Store: A store that ends, ends all waits with an error.
TEST_F(StoreFailureTest, LostServerEndsWaitsAndAllLaterCalls) {
  const auto store = client(5);
  FailureListener heard(*store);
  auto wait = std::async(std::launch::async,
                         [&] { return error_of([&] { return store->get("never", kSoon * 10); }); });
  const std::string address = server_->address().text();
  server_.reset();
  EXPECT_THAT(wait.get(), AllOf(StartsWith("peer_lost: rank 5, get \"never\" at the store "),
                                HasSubstr("the connection is lost"), HasSubstr("bprun")));
  EXPECT_THAT(error_of([&] { store->set("a", ""); }), StartsWith("peer_lost: rank 5, set \"a\""));
  const JobFailure failure = heard.get();
  EXPECT_EQ(failure.cause, -1);
  EXPECT_THAT(failure.text,
              StartsWith(concat("peer_lost: the job's store ", address, " is lost: ")));
}

TEST_F(StoreFailureTest, LastPushArrivesBeforeTheServersEnd) {
  const auto store = client(0);
  FailureListener heard(*store);
  server_->fail_job({.cause = 7, .text = "why"});
  server_.reset();
  EXPECT_EQ(heard.get().text, "why");
  EXPECT_THAT(error_of([&] { store->set("a", ""); }),
              AllOf(StartsWith("peer_lost: "), HasSubstr("before that the job had failed: why")));
}

TEST_F(StoreFailureTest, RemovedListenerIsNotCalled) {
  const auto store = client(0);
  store->on_job_failure(
      [](const JobFailure&) { ADD_FAILURE() << "the removed listener was called"; });
  store->on_job_failure({});
  server_->fail_job({.cause = -1, .text = "why"});
  FailureListener heard(*store);
  EXPECT_EQ(heard.get().text, "why");
}

TEST_F(StoreFailureTest, StopIsPushedToAllClients) {
  const auto asking = client(0);
  const auto other = client(1);
  EXPECT_FALSE(other->stop_requested());
  asking->request_stop();
  other->set("a", "");  // its answer comes after the push
  EXPECT_TRUE(other->stop_requested());
  const auto late = client(2);
  EXPECT_TRUE(late->stop_requested());
  EXPECT_THAT(events_.until("joined 2"),
              ElementsAre("joined 0", "joined 1", "stop_requested 0", "joined 2"));
}

TEST_F(StoreFailureTest, ServerCanRequestAStop) {
  const auto store = client(0);
  server_->request_stop();
  const auto late = client(1);
  EXPECT_TRUE(late->stop_requested());
  store->set("a", "");
  EXPECT_TRUE(store->stop_requested());
}

}  // namespace
}  // namespace bp
