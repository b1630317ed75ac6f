#include "trainer/prepare/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "base/text.h"
#include "bp/error.h"
#include "tests/support/scratch.h"

namespace bp::trainer {
namespace {

using namespace std::chrono_literals;

constexpr LeaseTimes kTimes{.renewal = 20ms, .expiry = 2000ms};
constexpr LeaseTimes kLongExpiry{.renewal = 10ms, .expiry = 1h};  // no pause of a test is that long
// The lease of a holder on another machine.
constexpr std::string_view kForeign = "abc\nother boot\n1\n7\nfar\nprepared 5 of 9 rows\n";

bool taken_within(Lease& lease, std::chrono::milliseconds limit) {
  const Deadline deadline(limit);
  while (!lease.try_take()) {
    if (deadline.passed()) {
      return false;
    }
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

class LeaseTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return scratch_.path("s.lease"); }
  void leave_a_killed_holders() const {
    const pid_t child = ::fork();
    if (child == 0) {
      Lease lease(path(), kTimes);
      ::_exit(lease.try_take() ? 0 : 1);  // _exit() does not release the lease
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    ASSERT_THAT(scratch_.names(), testing::Contains("s.lease"));
  }
  Scratch scratch_;
};

TEST_F(LeaseTest, OneHoldsItUntilItIsReleased) {
  Lease second(path(), kTimes);
  {
    Lease first(path(), kTimes);
    EXPECT_TRUE(first.try_take());
    EXPECT_FALSE(second.try_take());
    EXPECT_FALSE(first.lost());
  }
  EXPECT_THAT(scratch_.names(), testing::IsEmpty());
  EXPECT_TRUE(second.try_take());
}

TEST_F(LeaseTest, AWaiterSeesTheHolderAndItsProgress) {
  Lease first(path(), kTimes);
  Lease second(path(), kTimes);
  ASSERT_TRUE(first.try_take());
  first.say("prepared 41,000 of 67,349 rows");
  const Deadline deadline(20s);
  while (!second.holder().ends_with(": prepared 41,000 of 67,349 rows") && !deadline.passed()) {
    ASSERT_FALSE(second.try_take());
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_THAT(second.holder(),
              testing::MatchesRegex("process [0-9]+ on host .*: prepared 41,000 of 67,349 rows"));
}

// Every try_take() except the first follows a renewal immediately, even on a slow machine.
TEST_F(LeaseTest, IsNotTakenOverWhileItIsRenewed) {
  constexpr auto kExpiry = 200ms;
  Lease first(path(), {.renewal = 10ms, .expiry = 60s});
  Lease second(path(), {.renewal = 10ms, .expiry = kExpiry});
  ASSERT_TRUE(first.try_take());
  EXPECT_FALSE(second.try_take());
  const Deadline twice(2 * kExpiry);
  std::string seen = read_file(path());
  while (!twice.passed()) {
    const Deadline deadline(20s);
    while (read_file(path()) == seen && !deadline.passed()) {
      std::this_thread::sleep_for(1ms);
    }
    ASSERT_FALSE(deadline.passed()) << "the lease was not renewed within 20 s";
    EXPECT_FALSE(second.try_take());
    seen = read_file(path());
  }
  EXPECT_FALSE(first.lost());
}

TEST_F(LeaseTest, IsTakenOverIfItIsNotRenewedAndItsHolderNotices) {
  Lease first(path(), {.renewal = 1h, .expiry = 1h});
  Lease second(path(), {.renewal = 10ms, .expiry = 100ms});
  ASSERT_TRUE(first.try_take());
  EXPECT_TRUE(taken_within(second, 20s));
  EXPECT_TRUE(first.lost());
  EXPECT_FALSE(second.lost());
}

TEST_F(LeaseTest, OfAnotherMachineIsTakenOverOnlyAfterItsExpiry) {
  scratch_.write("s.lease", kForeign);
  Lease lease(path(), {.renewal = 10ms, .expiry = 200ms});
  const auto begin = Deadline::Clock::now();
  EXPECT_TRUE(taken_within(lease, 20s));
  EXPECT_GE(Deadline::Clock::now() - begin, 200ms);
  EXPECT_THAT(scratch_.names(), testing::ElementsAre("s.lease"));
}

TEST_F(LeaseTest, OfAKilledHolderIsTakenAtOnceOnTheSameMachine) {
  leave_a_killed_holders();
  Lease lease(path(), kLongExpiry);
  EXPECT_TRUE(taken_within(lease, 20s));
}

// The system reuses process ids.
TEST_F(LeaseTest, AnotherProcessWithTheIdOfTheDeadHolderIsNotTheHolder) {
  {
    Lease mine(path(), kTimes);
    ASSERT_TRUE(mine.try_take());
    std::string text = read_file(path());
    const std::string number = concat("\n", ::getpid(), "\n");
    ASSERT_NE(text.find(number), std::string::npos);
    // Process 1 is certainly older. The parent of this process may have started in the same clock
    // tick.
    text.replace(text.find(number), number.size(), "\n1\n");
    scratch_.write("copy", text);
  }
  std::filesystem::rename(scratch_.path("copy"), path());
  Lease lease(path(), kLongExpiry);
  EXPECT_TRUE(taken_within(lease, 20s));
}

TEST_F(LeaseTest, AHolderIsRunningIfItLivesHereOrRenews) {
  Lease mine(path(), kTimes);
  ASSERT_TRUE(mine.try_take());
  Lease other(path(), kTimes);
  EXPECT_FALSE(other.try_take());
  EXPECT_TRUE(other.holder_is_alive());

  const auto foreign = [&](int renewals) {
    scratch_.write("next", concat("abc\nother boot\n1\n", renewals, "\nfar\n\n"));
    std::filesystem::rename(scratch_.path("next"), scratch_.path("far.lease"));
  };
  Lease watching(scratch_.path("far.lease"), kLongExpiry);
  foreign(1);
  EXPECT_FALSE(watching.try_take());
  EXPECT_FALSE(watching.holder_is_alive());
  foreign(2);
  EXPECT_FALSE(watching.try_take());
  EXPECT_TRUE(watching.holder_is_alive());
}

TEST_F(LeaseTest, OnlyOneOfManyHoldsItAtATime) {
  leave_a_killed_holders();
  std::atomic<int> holding = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      Lease lease(path(), kLongExpiry);
      ASSERT_TRUE(taken_within(lease, 50s));
      most = std::max(most.load(), ++holding);
      std::this_thread::sleep_for(30ms);
      --holding;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(most, 1);
  EXPECT_THAT(scratch_.names(), testing::IsEmpty());
}

TEST_F(LeaseTest, RemovesTheLeftoversOfAHolderThatWasKilledWhileRenewing) {
  scratch_.write("s.lease.0123456789abcdef", kForeign);
  scratch_.write("s.leased", "of another program");
  {
    Lease lease(path(), kTimes);
    EXPECT_TRUE(lease.try_take());
    EXPECT_THAT(scratch_.names(), testing::ElementsAre("s.lease", "s.leased"));
  }
  EXPECT_THAT(scratch_.names(), testing::ElementsAre("s.leased"));
}

TEST_F(LeaseTest, SaysWhereItCannotWrite) {
  Lease lease(scratch_.path("no/such/folder.lease"), kTimes);
  try {
    (void)lease.try_take();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), testing::HasSubstr("folder.lease: No such file or directory"));
  }
}

}  // namespace
}  // namespace bp::trainer
