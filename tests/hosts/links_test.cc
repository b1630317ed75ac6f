// Jobs that move data over slow links and links that lose packets. On such a link a rank has done
// its part of an operation long before another rank has its bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/hosts/hosts.h"

namespace bp::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class LinkTest : public HostsTest {
 protected:
  using HostsTest::HostsTest;
  void expect_success(std::vector<std::string> arguments) const {
    BprunProcess bprun = run(std::move(arguments));
    EXPECT_EQ(bprun.finish(), 0) << bprun.out() << bprun.err();
    EXPECT_EQ(bprun.err(), "");
  }
};

struct Rate {
  const char* name;
  const char* option;
  const char* count;  // elements of four bytes
};

class SlowLinks : public testing::WithParamInterface<Rate>, public LinkTest {
 protected:
  SlowLinks() : LinkTest({"--rate", GetParam().option}) {}
};

// Each kind of operation is once the last one of a world.
// docs/acceptance.md, Networks: Nothing of a world's last operation is lost on links of 20 to 1,000
// Mbit/s.
TEST_P(SlowLinks, LoseNothingOfTheLastOperation) {
  expect_success({"-H", "a:1,b:1", rank_program(), "last", "each", GetParam().count});
  expect_success({"-H", "a:2,b:1", rank_program(), "last", "all_reduce", GetParam().count});
}

INSTANTIATE_TEST_SUITE_P(At,
                         SlowLinks,
                         testing::Values(Rate{"20MbitPerSecond", "b=20mbit", "100000"},
                                         Rate{"100MbitPerSecond", "b=100mbit", "1000000"},
                                         Rate{"1GbitPerSecond", "b=1gbit", "4000000"}),
                         [](const auto& rate) { return rate.param.name; });

class LinkOf20Mbit : public LinkTest {
 protected:
  LinkOf20Mbit() : LinkTest({"--rate", "20mbit"}) {}
};

// The sender has given the kernel one message and waits to send the next, while the receiver still
// waits for the first: each takes more than a stall, but no rank waits in vain.
// docs/acceptance.md, Networks: A message that takes longer than a stall is not a circle of waiting
// ranks.
TEST_F(LinkOf20Mbit, AMessageOnItsWayIsNoCircle) {
  expect_success({"-H", "a:1,b:1", rank_program(), "last", "messages", "1000000"});
}

// Rank 0 has done its part, and waits in finish() for what its kernel still has for rank 1.
TEST_F(LinkOf20Mbit, APeerThatDiesIsNotWaitedFor) {
  BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "last", "broadcast", "4000000"});
  ASSERT_TRUE(bprun.wait_for("[0] broadcast is over\n"));
  hosts().at("b", "pkill -KILL -x rank_program");
  EXPECT_EQ(bprun.finish(), 137) << bprun.err();
}

TEST_F(LinkOf20Mbit, APeerThatIsStoppedIsWaitedFor) {
  BprunProcess bprun = run({"-H", "a:1,b:1", rank_program(), "last", "broadcast", "4000000"});
  ASSERT_TRUE(bprun.wait_for("[0] broadcast is over\n"));
  hosts().at("b", "pkill -STOP -x rank_program");
  ::sleep(3);  // longer than the bytes take
  EXPECT_THAT(bprun.out(), Not(HasSubstr("ended after")));
  hosts().at("b", "pkill -CONT -x rank_program");
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
}

class LossyLinks : public LinkTest {
 protected:
  LossyLinks() : LinkTest({"--loss", "3"}) {}
};

// docs/acceptance.md, Networks: Nothing of a world's last operation is lost on links that lose
// packets.
TEST_F(LossyLinks, LoseNothingOfTheLastOperation) {
  expect_success({"-H", "a:1,b:1", rank_program(), "last", "each", "300000"});
}

TEST_F(LossyLinks, CarryARecovery) {
  BprunProcess bprun =
      run({"-H", "a:1,b:2,c:1", "--on-failure", "continue", rank_program(), "recover", "2"});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.out(), HasSubstr("a world of 3 ends, I am its rank 2\n"));
}

class LongLinks : public LinkTest {
 protected:
  LongLinks() : LinkTest({"--delay", "20"}) {}
};

// docs/acceptance.md, Networks: Nothing of a world's last operation is lost on links with a delay
// of 80 ms.
TEST_F(LongLinks, LoseNothingOfTheLastOperation) {
  expect_success({"-H", "a:1,b:1", rank_program(), "last", "all_reduce", "1000000"});
}

}  // namespace
}  // namespace bp::test
