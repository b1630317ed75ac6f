// Jobs that continue with the survivors of a failure: bprun --on-failure continue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "tests/e2e/launcher/bprun_process.h"

namespace bp::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

struct Case {
  std::string hosts;
  std::string backend;
  std::string victims;
};

class Recovery : public testing::TestWithParam<Case> {};

// docs/acceptance.md, Recovery and restarts: The survivors of a lost rank form a new world, several
// times, down to one rank.
TEST_P(Recovery, SurvivorsContinueWithExactResults) {
  const auto& [hosts, backend, victims] = GetParam();
  BprunProcess bprun(
      {.arguments = {"-H", hosts, "--on-failure", "continue", rank_program(), "recover", victims},
       .environment = {"BP_BACKEND=" + backend}});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  const int left = 4 - static_cast<int>(victims.size());
  for (int rank = 0, now = 0; rank < 4; ++rank) {
    const std::string line =
        concat("[", rank, "] a world of ", left, " ends, I am its rank ", now, "\n");
    if (victims.find(static_cast<char>('0' + rank)) == std::string::npos) {
      EXPECT_THAT(bprun.out(), HasSubstr(line)) << bprun.err();
      ++now;
    } else {
      EXPECT_THAT(bprun.err(),
                  ContainsRegex(concat("bprun: rank ", rank,
                                       " on .* was killed by signal 9 \\(SIGKILL\\); the others "
                                       "may continue \\(--on-failure continue\\)")));
    }
  }
  EXPECT_THAT(bprun.err(), Not(HasSubstr("FAILED")));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

INSTANTIATE_TEST_SUITE_P(Jobs,
                         Recovery,
                         testing::Values(Case{"localhost:4", "auto", "2"},
                                         Case{"localhost:4", "auto", "03"},
                                         Case{"localhost:4", "gloo", "1"},
                                         Case{"localhost:3,127.0.0.1:1", "auto", "3"},
                                         Case{"localhost:3,127.0.0.1:1", "auto", "01"},
                                         Case{"localhost:4", "auto", "012"}));

// docs/acceptance.md, Recovery and restarts: A job without survivors fails with its first failure.
TEST(RecoveryEnd, AJobWithoutSurvivorsFailsWithItsFirstFailure) {
  BprunProcess bprun({{"-n", "2", "--on-failure", "continue", rank_program(), "recover", "10"}});
  EXPECT_EQ(bprun.finish(), 137);
  EXPECT_THAT(bprun.err(), ContainsRegex("bprun: FAILED  rank 1 on localhost .*was killed by"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST(RecoveryEnd, AnUnknownValueIsRefused) {
  BprunProcess bprun({{"--on-failure", "ignore", rank_program()}});
  EXPECT_EQ(bprun.finish(), 2);
  EXPECT_EQ(bprun.first_error_line(), "bprun: --on-failure must be stop or continue, not 'ignore'");
}

}  // namespace
}  // namespace bp::test
