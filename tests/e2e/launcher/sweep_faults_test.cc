// `bprun sweep` whose processes are killed and whose disk is full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/e2e/launcher/sweep_fixture.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The hardest promise: whenever the sweep is killed, every trial finishes exactly once.
// docs/features.md, Searches: A search resumed, also after `kill -9` or a lost host | the same
// command
TEST_F(SweepTest, KillsAtRandomMomentsLoseNoTrialAndRepeatNone) {
  const auto sweep = [this] {
    return start("parameters: {i: {range: [1, 24, 1]}}\n",
                 "echo $1 >>$D/begun; sleep 0.2; echo $1 >>$D/done", {"-n", "3"});
  };
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the test is repeatable
  for (int kill = 0; kill < 8; ++kill) {
    BprunProcess killed = sweep();
    ::usleep(std::uniform_int_distribution<useconds_t>(50'000, 700'000)(random));
    killed.signal(SIGKILL);
    static_cast<void>(killed.finish());
  }
  BprunProcess last = sweep();
  ASSERT_EQ(last.finish(), 0) << last.err();
  EXPECT_EQ(lines("done"), numbers_to(24));
  EXPECT_EQ(count("finished"), 24);
  EXPECT_EQ(last.marked_at_last(), 0);
}

// The same with kills of a trial and of the agent of a host, at moments spread over the sweep. A
// program that such a kill meets after its work and before its end runs again.
TEST_F(SweepTest, KillsOfTheSweepOfTrialsAndOfAnAgentLoseNoTrial) {
  const std::string ssh = concat("sh -c 'echo $$ >", scratch_.path("agent"),
                                 "; for word; do :; done; eval \"exec $word\"' ssh");
  const auto sweep = [&] {
    return start(
        "parameters: {i: {range: [1, 24, 1]}}\n",
        "echo $$ >$D/pid.$1; mv $D/pid.$1 $D/pid; sleep 0.3; echo $1 >>$D/done",
        {"-H", "far:2,localhost:1", "--lost-after", "5s", "--ssh", ssh, "--max-restarts", "9"});
  };
  std::mt19937 random(3);  // NOLINT(bugprone-random-generator-seed): the test is repeatable
  std::vector<std::string> victims{"sweep", "pid", "agent", "sweep", "pid", "sweep"};
  std::ranges::shuffle(victims, random);
  std::optional<BprunProcess> running(sweep());
  for (std::size_t kill = 0; kill < victims.size(); ++kill) {
    for (int i = 0; i < 2000 && lines("done").size() < 3 * (kill + 1); ++i) ::usleep(10'000);
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 300'000)(random));
    if (victims[kill] != "sweep") {
      ::kill(std::stoi(read_file(scratch_.path(victims[kill]))), SIGKILL);
      continue;
    }
    running->signal(SIGKILL);
    static_cast<void>(running->finish());
    running.emplace(sweep());
  }
  ASSERT_EQ(running->finish(), 0) << running->err();
  EXPECT_EQ(count("finished"), 24);
  std::vector<std::string> done = lines("done");
  EXPECT_LE(done.size(), 24U + 3U);
  done.erase(std::unique(done.begin(), done.end()), done.end());
  EXPECT_EQ(done, numbers_to(24));
  EXPECT_EQ(running->marked_at_last(), 0);
}

TEST_F(SweepTest, ATrialThatIsKilledRunsAgain) {
  BprunProcess sweep = start("parameters: {i: [1, 2]}\n",
                             "[ $1 = 2 ] || [ -e $D/flag ] || { touch $D/flag; kill -9 $$; }; "
                             "echo $1 >>$D/done",
                             {"-n", "2"});
  EXPECT_EQ(sweep.finish(), 0) << sweep.err();
  EXPECT_THAT(lines("done"), ElementsAre("1", "2"));
  EXPECT_THAT(ask("status", {"--csv"}), HasSubstr("\n0,finished,,0,"));
  EXPECT_EQ(count("finished"), 2);
}

// A sweep asks bert_train for its options before it starts a trial.
TEST_F(SweepTest, ASignalBeforeTheFirstTrialIsSaid) {
  for (const int number : {SIGTERM, SIGHUP, SIGINT}) {
    const std::string asked = concat("asked.", number);
    const std::string program = scratch_.write(
        "bert_train", concat("#!/bin/sh\ntouch ", scratch_.path(asked), "; exec sleep 30\n"));
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    scratch_.write("space.yaml", "metric: loss\nparameters: {lr: [1e-3]}\n");
    BprunProcess sweep({.arguments = {"sweep", scratch_.path("space.yaml"), "--folder", folder(),
                                      "--", program, "d.csv"}});
    ASSERT_TRUE(wait_for_file(asked));
    sweep.signal(number);
    EXPECT_EQ(sweep.finish(), number == SIGINT ? 130 : 75) << sweep.err();
    EXPECT_EQ(sweep.err(),
              concat("bprun sweep: SIG", ::sigabbrev_np(number), ": no trial has started\n"));
    EXPECT_EQ(sweep.marked_at_last(), 0);
  }
}

// The trials report 5, 3 and 4. Only the one with 5 may continue after the first rung.
class SweepRungTest : public SweepTest {
 protected:
  BprunProcess sweep() {
    return start(
        "metric: score\nstop: {rule: asha, min: 1, factor: 2}\nparameters: {i: [5, 3, 4]}\n",
        "trap 'touch $D/asked.$1; [ $1 != 3 ] || sleep 0.5; exit 75' TERM; "
        "[ -e $D/first.$1 ] && { echo bp: metric $1 2; echo $1 >>$D/second; exit 0; }; "
        "touch $D/first.$1; "
        "while [ $1 = 3 ] && [ ! -e $D/go ]; do sleep 0.02; done; "
        "echo bp: metric $1 1; touch $D/reported.$1; while :; do sleep 0.02; done",
        {"-n", "1"});
  }
  void expect_the_undisturbed_result() {
    BprunProcess last = sweep();
    EXPECT_EQ(last.finish(), 0) << last.err();
    EXPECT_THAT(lines("second"), ElementsAre("5")) << "only this one passes the rung";
    EXPECT_EQ(count("finished"), 1);
    EXPECT_EQ(count("stopped"), 2);
    EXPECT_EQ(last.marked_at_last(), 0);
  }
};

TEST_F(SweepRungTest, AReportThatAKilledSweepDidNotReadIsDecidedByTheNext) {
  BprunProcess killed = sweep();
  ASSERT_TRUE(wait_for_file("first.3"));
  killed.signal(SIGSTOP);
  scratch_.write("go", "");
  ASSERT_TRUE(wait_for_file("reported.3"));
  killed.signal(SIGKILL);
  static_cast<void>(killed.finish());
  expect_the_undisturbed_result();
}

TEST_F(SweepRungTest, ADecisionOutlivesTheSweepThatMadeIt) {
  scratch_.write("go", "");
  BprunProcess killed = sweep();
  ASSERT_TRUE(wait_for_file("asked.3"));
  killed.signal(SIGKILL);
  static_cast<void>(killed.finish());
  expect_the_undisturbed_result();
}

// Trials 1 and 2 are still running when trial 3 or a later one makes sweep.sqlite reach its limit.
TEST_F(SweepTest, AFileThatCannotGrowEndsTheSweepInOrder) {
  const auto sweep = [this](const char* limit) {
    return start("parameters: {i: {range: [1, 60, 1]}}\n",
                 "trap 'echo $1 >>$D/saved; exit 75' TERM; "
                 "[ $1 -gt 2 ] || [ -e $D/saved ] || while :; do sleep 0.02; done; "
                 "echo $1 >>$D/done",
                 {"-n", "3"}, {"{i}"}, {"/bin/sh", "-c", concat(limit, "exec \"$@\""), "sh"});
  };
  BprunProcess limited = sweep("ulimit -f 2000; ");
  EXPECT_EQ(limited.finish(), 74);
  EXPECT_THAT(limited.err(),
              HasSubstr(concat("cannot use ", folder(), "/sweep.sqlite: disk I/O error")));
  EXPECT_THAT(limited.err(), HasSubstr("; stopping "));
  EXPECT_THAT(limited.err(), HasSubstr("once its folder can be written, the same command"));
  EXPECT_THAT(lines("saved"), ElementsAre("1", "2"));
  EXPECT_LT(lines("done").size(), 58U) << "the limit was too high";
  BprunProcess last = sweep("");
  EXPECT_EQ(last.finish(), 0) << last.err();
  EXPECT_EQ(lines("done"), numbers_to(60));
  EXPECT_EQ(last.marked_at_last(), 0);
}

// Trial 1 fills the disk and finishes, trial 2 waits, and trial 3 fails because the disk is full.
// docs/features.md, Searches: The whole search stopped in order | `bprun sweep stop`, Ctrl-C,
// `--max-hours`, `--until`
TEST_F(SweepTest, AFullDiskEndsTheSweepInOrder) {
  constexpr const char* kSmallDisk =
      "mkdir -p $0 && mount -t tmpfs -o size=2m none $0 || exit 77; "
      "\"$@\"; echo first $? >&2; rm $0/ballast; exec \"$@\"";
  BprunProcess sweep = start(
      "parameters: {i: [1, 2, 3]}\n",
      "trap '[ $1 = 1 ] || { echo $1 >>$D/saved; exit 75; }' TERM; "
      "case $1 in "
      "1) cat /dev/zero >$D/sweep/ballast; touch $D/full; n=0; "
      "   while [ ! -e $D/failed ] && [ $n -lt 100 ]; do n=$((n + 1)); sleep 0.02; done; sleep "
      "0.3;; "
      "2) [ -e $D/saved ] || while :; do sleep 0.02; done;; "
      "3) while [ ! -e $D/full ]; do sleep 0.02; done; "
      "   echo >$D/sweep/needed || { touch $D/failed; exit 3; };; esac; echo $1 >>$D/done",
      {"-n", "3"}, {"{i}"}, {"/usr/bin/env", "unshare", "-rm", "sh", "-c", kSmallDisk, folder()});
  const int code = sweep.finish();
  if (sweep.err().find("first") == std::string::npos) {
    GTEST_SKIP() << "this machine permits no mount namespaces: " << sweep.err();
  }
  EXPECT_EQ(code, 0) << sweep.err();
  EXPECT_THAT(sweep.err(), HasSubstr("No space left on device; stopping 2 trials, at most 30 s\n"));
  EXPECT_THAT(sweep.err(), HasSubstr("first 74\n"));
  EXPECT_THAT(sweep.err(), HasSubstr("3 of 3 trials ended; bprun sweep status")) << "none failed";
  EXPECT_THAT(lines("saved"), testing::Contains("2"));
  EXPECT_THAT(lines("done"), ElementsAre("1", "2", "3"));
  EXPECT_EQ(sweep.marked_at_last(), 0);
}

TEST_F(SweepTest, ALostHostGivesItsTrialsBackAndReturns) {
  const std::string ssh = concat("sh -c 'echo $$ >>", scratch_.path("pids"),
                                 "; for word; do :; done; eval \"exec $word\"' ssh");
  BprunProcess sweep =
      start("parameters: {i: {range: [1, 4, 1]}}\n",
            "[ -e $D/lost ] || { touch $D/ready.$1; exec sleep 1000; }; echo $1 >>$D/done",
            {"-H", "far:2", "--lost-after", "5s", "--ssh", ssh});
  ASSERT_TRUE(wait_for_file("ready.1") && wait_for_file("ready.2"));
  scratch_.write("lost", "");
  ::kill(std::stoi(lines("pids").front()), SIGKILL);
  EXPECT_EQ(sweep.finish(), 0) << sweep.err();
  EXPECT_THAT(sweep.err(), HasSubstr("host far is lost ("));
  EXPECT_EQ(lines("done"), numbers_to(4));
  EXPECT_EQ(lines("pids").size(), 2U);
  EXPECT_EQ(sweep.marked_at_last(), 0);
}

}  // namespace
}  // namespace bp::test
