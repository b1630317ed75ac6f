// How an agent checks by a second connection whether bprun is alive, and how bprun learns from it
// that the agent is.
// docs/acceptance.md, Networks: A host is lost after its silence limit, and not before.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/keys/job_key.h"
#include "comm/store/server.h"
#include "launcher/agent/launcher_watch.h"
#include "launcher/agent/liveness_check.h"
#include "launcher/process/own_pause.h"

namespace bp::launcher {
namespace {

class LivenessTest : public testing::Test {
 protected:
  LivenessTest() {
    StoreServerOptions options;
    options.job = "job";
    options.key = key_;
    store_ = std::make_unique<StoreServer>(options, nullptr);
    target_ = {.store = store_->address(), .job = "job", .key = key_, .host = 7};
  }
  // Checks `target` and returns the problem, or an empty text if there is none.
  std::string check(const LivenessTarget& target) {
    std::optional<std::string> result;
    const LivenessCheck check(loop_, target, 3,
                              [&](const std::string& problem) { result = problem; });
    while (!result) loop_.run_once();
    EXPECT_TRUE(check.ended());
    return *result;
  }
  [[nodiscard]] std::map<std::string, std::string> alive_keys() const {
    return store_->values(kHostAliveKeys);
  }

  const JobKey key_ = random_job_key();
  std::unique_ptr<StoreServer> store_;
  LivenessTarget target_;
  EventLoop loop_;
};

TEST_F(LivenessTest, ACheckRecordsItsHostInTheStore) {
  EXPECT_EQ(check(target_), "");
  EXPECT_EQ(alive_keys(), (std::map<std::string, std::string>{{"bprun/host_alive/7", "3"}}));
}

TEST_F(LivenessTest, ACheckSucceedsInAFailedJob) {
  store_->fail_job({-1, "it has failed"});
  store_->request_stop();
  EXPECT_EQ(check(target_), "");
}

TEST_F(LivenessTest, OnlyTheStoreOfItsJobCounts) {
  LivenessTarget other = target_;
  other.key = random_job_key();
  EXPECT_EQ(check(other), "the store of another job answers there");
  other = target_;
  other.job = "another";
  EXPECT_EQ(check(other), "the store of another job answers there");
  EXPECT_TRUE(alive_keys().empty());
}

TEST_F(LivenessTest, ACheckSaysWhyItFailed) {
  store_.reset();
  EXPECT_EQ(check(target_), "Connection refused");
  target_.store.host = "a name";
  EXPECT_EQ(check(target_), "that is not an address");
}

TEST_F(LivenessTest, AnAgentThatBprunDoesNotHearUsesASecondConnection) {
  LauncherWatch watch(loop_, kLostAfter);
  watch.check_at(target_);
  watch.look(EventLoop::Clock::now());
  loop_.run_once(10ms);
  EXPECT_TRUE(alive_keys().empty()) << "the agent must not connect again while bprun hears it";
  watch.take({.lost_after_ms = 30'000, .silent_ms = 4'000});
  EXPECT_EQ(watch.lost_after(), 30s);
  watch.look(EventLoop::Clock::now());
  while (alive_keys().empty()) loop_.run_once(10ms);
}

TEST_F(LivenessTest, BprunIsAliveWhileItAnswersOnEitherConnection) {
  LauncherWatch watch(loop_, 5s);
  watch.check_at(target_);
  const auto long_ago = EventLoop::Clock::now() - 1h;  // the last heartbeat on the usual connection
  const Deadline deadline(6s);
  while (!deadline.passed()) {
    loop_.run_once(kLookEvery);
    watch.look(long_ago);
    ASSERT_FALSE(watch.lost());
    if (alive_keys()["bprun/host_alive/7"] == "3") return;  // the third check has reached bprun
  }
  FAIL() << "the third check did not reach bprun";
}

TEST(OwnPauseTest, IsTheTimeSinceTheLastLook) {
  OwnPause pause;
  EXPECT_EQ(pause.look(1h), std::nullopt);
  ::usleep(20'000);
  EXPECT_GE(pause.look(10ms).value_or(0ms), 20ms);
  EXPECT_EQ(pause.look(1h), std::nullopt);
}

}  // namespace
}  // namespace bp::launcher
