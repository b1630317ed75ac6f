// Jobs that restart after a failure: bprun --max-restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "base/deadline.h"
#include "base/text.h"
#include "tests/e2e/launcher/bprun_process.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A program that prints its generation, rank and hosts, and then runs the shell commands `then`.
std::vector<std::string> program(const std::string& then) {
  return {"sh", "-c",
          concat("echo \"$BP_GENERATION: $RANK of $WORLD_SIZE on $BP_HOST_NAMES\"; ", then)};
}

class Restart : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Hosts other than localhost are unreachable while this test's file `down` exists.
  [[nodiscard]] BprunProcess run(std::vector<std::string> options, const std::string& then) const {
    const std::string down = path("down");
    options.insert(options.begin(),
                   {"--ssh", fake_ssh(concat("if [ -e ", down, " ]; then echo 'No route to host' ",
                                             ">&2; exit 255; fi"))});
    const auto words = program(then);
    options.insert(options.end(), words.begin(), words.end());
    return BprunProcess({.arguments = options, .environment = {"DOWN=" + down}});
  }

 private:
  const std::string folder_ = concat(testing::TempDir(), "bprun_restart_", ::getpid());
};

// docs/acceptance.md, Recovery and restarts: A restart that started no rank is listed.
TEST_F(Restart, ListsARestartThatStartedNoRank) {
  BprunProcess bprun =
      run({"-H", "localhost:1,far:1", "--max-restarts", "1"}, "touch $DOWN; exit 7");
  EXPECT_EQ(bprun.finish(), 75) << bprun.err();
  EXPECT_THAT(
      bprun.err(),
      ContainsRegex("bprun: 1 restart:\n  generation 0, 2 ranks on localhost:1,far:1: rank "
                    ".* exited with code 7\n  restart 1 started no rank: host far could not "
                    "be reached: No route to host\n"));
}

// docs/acceptance.md, Recovery and restarts: `--max-restarts` starts a failed job again.
TEST_F(Restart, AJobThatFailsOnceSucceedsInItsSecondGeneration) {
  BprunProcess bprun = run({"-H", "localhost:2,127.0.0.1:1", "--max-restarts", "2"},
                           concat("if [ $BP_GENERATION = 0 ]; then [ $RANK = 1 ] && exit 7; "
                                  "exec sleep 1000; fi; exec ",
                                  rank_program(), " join done"));
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(bprun.out(),
                HasSubstr(concat("[", rank, "] 1: ", rank, " of 3 on localhost,127.0.0.1\n")));
  }
  EXPECT_THAT(bprun.out(), HasSubstr("[1] 0: 1 of 3 on localhost,127.0.0.1\n"));
  EXPECT_THAT(bprun.err(),
              ContainsRegex("^bprun: FAILED  rank 1 on localhost .*exited with code 7"));
  EXPECT_THAT(
      bprun.err(),
      HasSubstr("bprun: restart 1 of 2 in 0.5 s, with 3 ranks on localhost:2,127.0.0.1:1\n"));
  EXPECT_THAT(bprun.err(),
              ContainsRegex("bprun: 1 restart:\n  generation 0, 3 ranks on "
                            "localhost:2,127\\.0\\.0\\.1:1: rank 1 on localhost .*exited with code "
                            "7\n  generation 1, 3 ranks on localhost:2,127\\.0\\.0\\.1:1: ended "
                            "with code 0\n$"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

// docs/acceptance.md, Recovery and restarts: The number of restarts has a limit.
TEST_F(Restart, StopsAtMaxRestarts) {
  BprunProcess bprun =
      run({"-n", "1", "--max-restarts", "1", "--output", path("out")}, "kill -SEGV $$");
  EXPECT_EQ(bprun.finish(), 139);
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: no restart is left (--max-restarts 1)\n"));
  std::ifstream kept(path("out/latest/rank.0/stdout"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}),
            "0: 0 of 1 on localhost\n1: 0 of 1 on localhost\n");
}

// docs/acceptance.md, Recovery and restarts: An error that would occur again, such as a wrong
// option, is not retried.
TEST_F(Restart, ALastingErrorIsNotRetried) {
  for (const int code : {2, 65, 66, 75, 126, 127}) {
    BprunProcess bprun = run({"-n", "1", "--max-restarts", "3"}, concat("exit ", code));
    EXPECT_EQ(bprun.finish(), code);
    EXPECT_THAT(bprun.err(), Not(HasSubstr("bprun: restart")));
  }
  BprunProcess missing({{"-n", "2", "--max-restarts", "3", "no_such_program"}});
  EXPECT_EQ(missing.finish(), 127);
  EXPECT_THAT(missing.err(), Not(HasSubstr("restart")));
}

// docs/acceptance.md, Recovery and restarts: A host that failed twice is left out, unless the
// others hold too few ranks.
TEST_F(Restart, AHostThatFailsTwiceIsLeftOut) {
  BprunProcess bprun =
      run({"-H", "far:1,localhost:2", "--max-restarts", "3", "--min-ranks", "2"},
          "case $BP_HOST_NAMES in far*) [ $RANK = 0 ] && exit 9; exec sleep 1000;; esac");
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.err(),
              HasSubstr("restart 1 of 3 in 0.5 s, with 3 ranks on far:1,localhost:2\n"));
  EXPECT_THAT(bprun.err(),
              ContainsRegex("restart 2 of 3 in 1\\.0 s, with 2 ranks on localhost:2\nbprun: host "
                            "far is left out: it has failed 2 times \\(rank 0 on far .*exited with "
                            "code 9\\)\n"));
  EXPECT_THAT(bprun.out(), HasSubstr("[0] 2: 0 of 2 on localhost\n"));
  EXPECT_THAT(bprun.out(), HasSubstr("[1] 2: 1 of 2 on localhost\n"));
}

TEST_F(Restart, AHostThatFailsTwiceStaysIfTheOthersHoldTooFewRanks) {
  BprunProcess bprun = run({"-H", "localhost:1,far:1", "--max-restarts", "2"},
                           "[ $BP_GENERATION = 2 ] && exit 0; [ $RANK = 1 ] && exit 9; "
                           "exec sleep 1000");
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.err(),
              HasSubstr("restart 2 of 2 in 1.0 s, with 2 ranks on localhost:1,far:1\n"));
  EXPECT_THAT(bprun.err(), Not(HasSubstr("left out")));
}

// Generation 0 loses host far, generation 1 runs without it, and generation 2 uses it again.
// docs/acceptance.md, Recovery and restarts: A lost host is left out until it can be reached again.
TEST_F(Restart, ALostHostIsLeftOutUntilItIsReachableAgain) {
  BprunProcess bprun = run({"-H", "far:2,localhost:1", "--max-restarts", "2", "--min-ranks", "1"},
                           "[ $BP_GENERATION = 2 ] && exit 0; "
                           "[ $BP_GENERATION = 1 ] && rm $DOWN && exit 5; "
                           "[ $RANK = 0 ] && touch $DOWN && kill -9 $PPID; exec sleep 1000");
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.err(), ContainsRegex("^bprun: FAILED  host far was lost"));
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: restart 1 of 2 in 10.0 s, with 3 ranks on "
                                     "far:2,localhost:1\nbprun: FAILED  host far could not be "
                                     "reached: No route to host\n"));
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: continues with 1 rank on localhost:1\n"));
  EXPECT_THAT(bprun.err(),
              HasSubstr("bprun: restart 2 of 2 in 1.0 s, with 3 ranks on far:2,localhost:1\n"));
  EXPECT_THAT(bprun.out(), HasSubstr("[0] 1: 0 of 1 on localhost\n"));
  EXPECT_THAT(bprun.out(), HasSubstr("[0] 2: 0 of 3 on far,localhost\n"));
  EXPECT_THAT(bprun.out(), HasSubstr("[2] 2: 2 of 3 on far,localhost\n"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

// docs/acceptance.md, Recovery and restarts: Fewer ranks than `--min-ranks` end the job.
TEST_F(Restart, FewerRanksThanMinRanksEndTheJob) {
  BprunProcess bprun = run({"-H", "localhost:2,far:2", "--max-restarts", "2", "--min-ranks", "3"},
                           "[ $RANK = 0 ] && touch $DOWN && exit 5; exec sleep 1000");
  EXPECT_EQ(bprun.finish(), 75) << bprun.err();
  EXPECT_THAT(
      bprun.err(),
      HasSubstr("bprun: cannot restart: there is room for 2 ranks on localhost:2, and "
                "--min-ranks is 3; host far is left out: it is out of reach (host far could not be "
                "reached: No route to host); no restart is left (--max-restarts 2)\n"));
}

TEST_F(Restart, AllHostsAreNeededAtTheFirstStart) {
  std::ofstream(path("down")) << "";
  BprunProcess bprun =
      run({"-H", "localhost:1,far:1", "--max-restarts", "2", "--min-ranks", "1"}, "exit 0");
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.err(), Not(HasSubstr("restart")));
}

// docs/acceptance.md, Recovery and restarts: A restart reads the hostfile again, so hosts can be
// added.
TEST_F(Restart, TheHostfileIsReadAgain) {
  const std::string hosts = path("hosts");
  std::ofstream(hosts) << "localhost slots=1\n";
  BprunProcess bprun =
      run({"--hostfile", hosts, "--max-restarts", "2"},
          concat("[ $BP_GENERATION = 1 ] && exit 0; echo far slots=2 >> ", hosts, "; exit 5"));
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.err(), HasSubstr("with 3 ranks on localhost:1,far:2\n"));
  EXPECT_THAT(bprun.out(), HasSubstr("[2] 1: 2 of 3 on localhost,far\n"));
}

TEST_F(Restart, AMissingHostfileIsReported) {
  const std::string hosts = path("hosts");
  std::ofstream(hosts) << "localhost\n";
  BprunProcess bprun =
      run({"--hostfile", hosts, "--max-restarts", "2"}, concat("rm ", hosts, "; exit 5"));
  EXPECT_EQ(bprun.finish(), 5);
  EXPECT_THAT(bprun.err(), HasSubstr(concat("bprun: cannot restart: --hostfile ", hosts,
                                            ": No such file or directory\n")));
}

TEST_F(Restart, ASignalBeforeTheRestartEndsTheJob) {
  for (const auto& [number, name, code] :
       {std::tuple{SIGTERM, "SIGTERM", 75}, std::tuple{SIGUSR1, "SIGUSR1", 75},
        std::tuple{SIGINT, "SIGINT", 130}}) {
    BprunProcess bprun = run({"-H", "far:1,localhost:1", "--max-restarts", "2"},
                             "[ $RANK = 0 ] && kill -9 $PPID; exec sleep 1000");
    ASSERT_TRUE(bprun.wait_for("restart 1 of 2 in 10.0 s"));
    bprun.signal(number);
    EXPECT_EQ(bprun.finish(), code);
    EXPECT_THAT(bprun.err(),
                HasSubstr(concat("bprun: received ", name, " and does not restart the job\n")));
  }
}

TEST_F(Restart, AWarningWhileHostsAreAskedEndsTheJob) {
  const std::string silent = path("silent");
  const std::string asked = path("asked");
  BprunProcess bprun(
      {{"--ssh",
        fake_ssh(concat("if [ -e ", silent, " ]; then touch ", asked, "; exec sleep 1000; fi")),
        "-H", "far:1", "--max-restarts", "1", "sh", "-c", concat("touch ", silent, "; exit 5")}});
  ASSERT_TRUE(bprun.wait_for("restart 1 of 1"));
  for (const Deadline deadline(30s); !std::filesystem::exists(asked);) {
    ASSERT_FALSE(deadline.passed());
    ::usleep(5000);
  }
  bprun.signal(SIGUSR1);
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: received SIGUSR1 and does not restart the job\n"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

// The signal means that the batch system will soon end the job, so a restart would be useless.
// docs/acceptance.md, Recovery and restarts: No restart follows a warning of the batch system.
TEST_F(Restart, NotAfterAWarningOfTheBatchSystem) {
  BprunProcess bprun = run({"-n", "1", "--max-restarts", "2"},
                           "trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(bprun.wait_for("[0] ready\n"));
  bprun.signal(SIGUSR1);
  EXPECT_EQ(bprun.finish(), 5);
  EXPECT_THAT(bprun.err(), HasSubstr("bprun: received SIGUSR1 and does not restart the job\n"));
}

TEST_F(Restart, WrongOptionsAreRefused) {
  const auto refused = [](std::vector<std::string> options, const std::string& text) {
    options.push_back("true");
    BprunProcess bprun({std::move(options)});
    EXPECT_EQ(bprun.finish(), 2);
    EXPECT_EQ(bprun.first_error_line(), "bprun: " + text);
  };
  refused({"--max-restarts", "-1"}, "--max-restarts must be 0 or more, not -1");
  refused({"--min-ranks", "2"},
          "--min-ranks has no effect without restarts; add --max-restarts N or remove --min-ranks");
  refused({"--max-restarts", "1", "--min-ranks", "0"}, "--min-ranks must be 1 or more, not 0");
  refused({"--max-restarts", "1", "--min-ranks", "3", "-n", "2"},
          "--min-ranks 3 is more than -n 2");
  refused({"--max-restarts", "1", "--min-ranks", "3", "-H", "localhost:2"},
          "--min-ranks 3 is more than the 2 ranks that the hosts hold");
}

}  // namespace
}  // namespace bp::test
