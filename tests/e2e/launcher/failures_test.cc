// What bprun prints and returns when a rank fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kTwoHosts = "localhost:2,127.0.0.1:1";

// docs/acceptance.md, Failures: bprun ends with the failed rank's exit code, and names rank, host
// and reason.
// docs/features.md, Launching: If one rank fails, all stop, with its exit code | always
TEST(Failure, KeepsTheCodeAndNamesRankHostAndReason) {
  const auto start = std::chrono::steady_clock::now();
  BprunProcess bprun({{"-H", kTwoHosts, rank_program(), "exit", "2", "7"}});
  EXPECT_EQ(bprun.finish(), 7);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s) << "a quiet machine takes 2 s";
  EXPECT_THAT(bprun.err(),
              ContainsRegex("bprun: FAILED  rank 2 on 127\\.0\\.0\\.1 \\(local rank 0, pid "
                            "[0-9]+\\) exited with code 7 after "));
  EXPECT_THAT(bprun.err(), HasSubstr("; ranks 0,1 were stopped by bprun (SIGTERM, "));
  EXPECT_THAT(bprun.err(), HasSubstr("  last stderr of rank 2:\n    | rank 2 has enough\n"));
  EXPECT_THAT(bprun.err(), HasSubstr("[2] rank 2 has enough\n"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST(Failure, AStoppedAgentOfThisMachineIsALostHost) {
  const Scratch scratch;
  BprunProcess bprun({{"--lost-after", "5s", "sh", "-c", "echo $PPID >\"$0\"; echo ready; sleep 60",
                       scratch.path("agent")}});
  ASSERT_TRUE(bprun.wait_for("[0] ready\n"));
  ::kill(std::stoi(read_file(scratch.path("agent"))), SIGSTOP);
  EXPECT_EQ(bprun.finish(), 75);
  EXPECT_THAT(bprun.first_error_line(),
              ContainsRegex("bprun: FAILED  host localhost was lost \\(silent for 5\\.0 s\\)"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST(Failure, AnEmptyCommandForOtherHostsIsRefused) {
  BprunProcess bprun({{"-H", "elsewhere", "--ssh", "", "true"}});
  EXPECT_EQ(bprun.finish(), 2);
  EXPECT_EQ(bprun.first_error_line(), "bprun: --ssh is empty");
}

TEST(Failure, AMissingCommandForOtherHostsIsNamed) {
  const std::string text = "cannot run /nowhere/ssh: there is no /nowhere/ssh";
  BprunProcess bprun({{"-H", "elsewhere", "--ssh", "/nowhere/ssh", "true"}});
  EXPECT_EQ(bprun.finish(), 70);
  EXPECT_EQ(bprun.first_error_line(), "bprun: " + text);
  const Scratch folder;
  const std::string script = folder.write("ssh", "exit 0\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  BprunProcess without_interpreter({{"-H", "elsewhere", "--ssh", script, "true"}});
  EXPECT_EQ(without_interpreter.finish(), 70);
  EXPECT_EQ(without_interpreter.first_error_line(),
            concat("bprun: cannot run ", script,
                   ": not a program for this machine, and no script with a #! line"));
  BprunProcess doctor({{"doctor", "-H", "elsewhere", "--ssh", "/nowhere/ssh"}});
  EXPECT_EQ(doctor.finish(), 1);
  EXPECT_THAT(doctor.out(), ContainsRegex("fail +reach +" + text + "\n"));
  BprunProcess gpus({{"gpus", "-H", "elsewhere", "--ssh", "/nowhere/ssh", "--json"}});
  EXPECT_EQ(gpus.finish(), 75);
  EXPECT_EQ(nlohmann::json::parse(gpus.out()).at("hosts").at(0).at("problem"), text);
}

// docs/acceptance.md, Failures: A signal that killed a rank is named.
TEST(Failure, NamesTheSignal) {
  BprunProcess bprun({{"-n", "2", rank_program(), "signal", "1", std::to_string(SIGSEGV)}});
  EXPECT_EQ(bprun.finish(), 139);
  EXPECT_THAT(bprun.err(),
              ContainsRegex("rank 1 on localhost .*was killed by signal 11 \\(SIGSEGV\\)"));
  EXPECT_THAT(bprun.err(), HasSubstr("rank 1 wrote nothing to stderr"));
}

// docs/acceptance.md, Failures: The first failure is reported, not its consequences.
TEST(Failure, NamesTheFirstOfTwoFailures) {
  BprunProcess bprun(
      {{"-n", "2", "sh", "-c",
        "[ $RANK = 1 ] && exit 5; trap 'exit 7' TERM; while :; do sleep 0.01; done"}});
  EXPECT_EQ(bprun.finish(), 5);
  EXPECT_THAT(bprun.err(), ContainsRegex("bprun: FAILED  rank 1 on .* exited with code 5"));
}

TEST(Failure, AMissingProgramIsReportedOnceAndNoRankStarts) {
  BprunProcess bprun({{"-H", kTwoHosts, "no_such_program"}});
  EXPECT_EQ(bprun.finish(), 127);
  EXPECT_THAT(
      bprun.err(),
      ContainsRegex("bprun: FAILED  no_such_program was not found on (localhost|127.0.0.1): it is "
                    "neither on PATH nor in "));
  BprunProcess data({{"-n", "2", "/etc/passwd"}});
  EXPECT_EQ(data.finish(), 126);
  EXPECT_EQ(
      data.first_error_line(),
      "bprun: FAILED  /etc/passwd cannot be executed on localhost: /etc/passwd is not executable "
      "(chmod +x makes it so)");
}

TEST(Failure, KillsARankThatIgnoresSigterm) {
  BprunProcess bprun(
      {{"-n", "2", "sh", "-c",
        "if [ $RANK = 0 ]; then trap '' TERM; echo set; sleep 1000 & wait; wait; fi; "
        "sleep 0.2; exit 3"}});
  EXPECT_EQ(bprun.finish(), 3);
  EXPECT_THAT(bprun.err(), HasSubstr("rank 0 was stopped by bprun (SIGKILL, "));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST(Failure, NamesTheKilledRankAndNotThoseThatFailBecauseOfIt) {
  BprunProcess bprun({{"-H", kTwoHosts, rank_program(), "join", "die"}});
  EXPECT_EQ(bprun.finish(), 137);
  EXPECT_THAT(bprun.err(),
              ContainsRegex("bprun: FAILED  rank 1 on localhost .*was killed by signal 9 "
                            "\\(SIGKILL\\)"));
  EXPECT_THAT(bprun.err(), HasSubstr("hint: killed from outside"));
}

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// docs/acceptance.md, Failures: The report says in which collective each rank was.
TEST(Failure, NamesTheCollectiveOfTheOthersAndKeepsTheirRecords) {
  const auto folder = std::filesystem::path(testing::TempDir()) / concat("records-", ::getpid());
  for (const char* backend : {"BP_BACKEND=auto", "BP_BACKEND=gloo"}) {
    BprunProcess bprun(
        {.arguments = {"-n", "3", "--output", folder.string(), rank_program(), "reduce", "1"},
         .environment = {backend}});
    EXPECT_EQ(bprun.finish(), 137);
    EXPECT_THAT(bprun.err(), HasSubstr("rank 1 on localhost"));
    EXPECT_THAT(bprun.err(), HasSubstr("\n  ranks 0,2 were in collective 5 of world: all_reduce "
                                       "sum of 16 f32 'grads'\n"));
    for (const char* rank : {"rank.0", "rank.2"}) {
      const std::string text = content(folder / "latest" / rank / "collectives.world.txt");
      EXPECT_THAT(text, ContainsRegex("\n5\t[^\n]*\tunder way\t[^\n]*'grads'\n$"));
    }
    std::filesystem::remove_all(folder);
  }
}

TEST(Failure, NamesTheRankThatGaveUpAndNotThoseThatFailBecauseOfIt) {
  BprunProcess bprun({{"-n", "3", rank_program(), "give-up"}});
  EXPECT_EQ(bprun.finish(), 9);
  EXPECT_THAT(bprun.err(),
              ContainsRegex("bprun: FAILED  rank 0 on localhost .*exited with code 9"));
}

// docs/acceptance.md, Failures: An aborted job fails although all ranks end with 0.
TEST(Failure, AnAbortFailsTheJobThoughEveryRankEndsWith0) {
  BprunProcess bprun({{"-n", "3", rank_program(), "give-up-quietly"}});
  EXPECT_EQ(bprun.finish(), 70);
  EXPECT_THAT(bprun.err(), ContainsRegex("bprun: FAILED  rank 0 on localhost .*declared the job "
                                         "failed: .*rank 0 has enough"));
}

// First rank 1 leaves a job that uses only the store; then one rank leaves a world of 2, of 4 and
// of 3 ranks, of which the others wait in a collective.
// docs/acceptance.md, Failures: A rank that exits without finish() is named with the missing call.
TEST(Failure, LeavingWithoutFinishNamesTheRankAndTheMissingCall) {
  const auto run = [](const std::vector<std::string>& arguments, int rank) {
    BprunProcess bprun({arguments});
    EXPECT_EQ(bprun.finish(), 70);
    EXPECT_THAT(bprun.err(), ContainsRegex(concat(
                                 "bprun: FAILED  rank ", rank,
                                 " on localhost \\(local rank [0-9], pid [0-9]+\\) exited "
                                 "without world\\.finish\\(\\) while other ranks were running ")));
    EXPECT_THAT(
        bprun.err(),
        HasSubstr("\n  hint: write world.finish(); on every rank, after its last collective "
                  "and before each return of main()\n"));
  };
  run({"-n", "3", rank_program(), "join", "leave"}, 1);
  run({"-n", "2", rank_program(), "forget", "1", "more"}, 1);
  run({"-n", "4", rank_program(), "forget", "3", "more"}, 3);
  run({"-H", kTwoHosts, rank_program(), "forget", "0", "more"}, 0);
}

// Whether the other ranks notice depends on timing, but the result must not.
TEST(Success, WithAWarningIfAllRanksForgetToFinish) {
  for (const char* ranks : {"2", "4"}) {
    BprunProcess bprun({{"-n", ranks, rank_program(), "forget", "0123"}});
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
    EXPECT_EQ(
        bprun.err(),
        concat("bprun: warning: ranks ", *ranks == '2' ? "0,1" : "0-3",
               " exited without world.finish(), which fails the job if another rank is "
               "still running; write world.finish(); on every rank, after its last collective "
               "and before each return of main()\n"));
  }
}

// docs/acceptance.md, Failures: A rank that never joins is named.
// docs/features.md, Launching: Missing ranks are named in time | always
TEST(Failure, NamesRanksThatNeverJoined) {
  BprunProcess bprun({{"-n", "3", "--start-timeout", "300ms", rank_program(), "join", "late"}});
  EXPECT_EQ(bprun.finish(), 70);
  EXPECT_THAT(bprun.err(),
              ContainsRegex("rank 1 on localhost .*has not joined the job within 0.3 s of the "
                            "first that did"));
}

#ifndef __SANITIZE_ADDRESS__  // UBSan needs descriptors itself to check a vptr
// Whichever step lacks a descriptor, bprun must report it in one line.
// docs/acceptance.md, Failures: Too few file descriptors are reported.
TEST(Failure, TooFewDescriptorsAreReported) {
  const std::string again =
      concat("for n in 4 6 8 10 12 14 16 18 20 22 24 32; do prlimit --nofile=$n ", kBinDir,
             "/bprun -n 2 true 2>&1; echo code $? of $n; done");
  BprunProcess bprun({{"-n", "1", "--prefix", "none", "sh", "-c", again}});
  EXPECT_EQ(bprun.finish(), 0);
  std::istringstream lines(bprun.out());
  std::string said;
  int went_well = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("code ")) {
      said += line;
      continue;
    }
    if (line.starts_with("code 0 ")) {
      ++went_well;
    } else if (!line.starts_with("code 127 ")) {  // the loader cannot open its libraries
      EXPECT_THAT(line, HasSubstr("code 70 ")) << said;
      EXPECT_THAT(said, HasSubstr("Too many open files"));
    }
    said.clear();
  }
  EXPECT_GT(went_well, 0) << "32 descriptors must be enough";
}

TEST(Failure, AStackThatIsTooSmallIsNamed) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-n", "1", "true"}, {"sweep", "no.yaml", "--", "true"}}) {
    BprunProcess bprun(
        {.arguments = words, .before = {"/bin/sh", "-c", "ulimit -s 64 && exec \"$0\" \"$@\""}});
    EXPECT_EQ(bprun.finish(), 70);
    EXPECT_THAT(bprun.first_error_line(),
                HasSubstr(": a thread may have a stack of 64.0 KiB, and needs at least 512.0 KiB; "
                          "raise the limit (ulimit -s)"));
  }
}

TEST(Failure, ATooLowLimitGetsAHint) {
  BprunProcess bprun({.arguments = {"-n", "16", "sleep", "10"},
                      .before = {"/bin/sh", "-c", "ulimit -n 30 && exec \"$0\" \"$@\""}});
  EXPECT_EQ(bprun.finish(), 70);
  EXPECT_THAT(bprun.err(), HasSubstr("cannot make a pipe: Too many open files"));
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: the limit of open files is too low (ulimit -n)\n"));
}
#endif

// docs/acceptance.md, Failures: `--kill-silent` ends a job with a silent rank.
TEST(Failure, ASilentRankIsKilledOnRequest) {
  BprunProcess bprun({{"-n", "3", "--kill-silent=2s", rank_program(), "join", "stop"}});
  EXPECT_EQ(bprun.finish(), 70);
  EXPECT_THAT(bprun.err(), ContainsRegex("bprun: FAILED  rank 1 on localhost \\(local rank 1, pid "
                                         "[0-9]+\\) sent no heartbeat for [0-9.]+ s "
                                         "\\(--kill-silent\\)"));
  EXPECT_THAT(bprun.err(), HasSubstr("hint: something stopped it"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

// docs/acceptance.md, Failures: A rank that is late is not a failure, by any algorithm.
TEST(Success, WithARankThatIsOnlySlow) {
  BprunProcess bprun({{"-n", "2", "--kill-silent=2s", rank_program(), "join", "slow"}});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_EQ(bprun.out() + bprun.err(), "");
}

// docs/acceptance.md, Failures: A timeline of all ranks has rank 0's clock, and is complete at any
// time.
TEST(Success, WithTracesOfAllRanksByOneClock) {
  const auto folder = std::filesystem::path(testing::TempDir()) / concat("traces-", ::getpid());
  BprunProcess bprun({{"-H", kTwoHosts, "--trace", folder.string(), rank_program(), "traced"}});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  std::vector<double> ends;
  bool waited = false;  // at least one rank must have waited
  for (int rank = 0; rank < 3; ++rank) {
    std::map<std::string, double> begins;  // of spans and rows, by name
    for (const auto& event :
         nlohmann::json::parse(content(folder / concat("rank-", rank, ".json")))) {
      EXPECT_EQ(event["pid"], rank);
      if (event["ph"] == "M") begins[event["args"]["name"]] = 0;  // a row
      if (event["ph"] == "X" || event["ph"] == "b") begins[event["name"]] = event["ts"];
      if (event["name"] == "all_reduce sum of 16 f32 'first'") {
        ends.push_back(event["ts"].get<double>() + event["dur"].get<double>());
      }
    }
    for (const char* name : {"collectives", "buckets", "all_reduce sum of 16 f32 'first'",
                             "all_reduce sum of 16 f32 'second'"}) {
      EXPECT_TRUE(begins.contains(name)) << "rank " << rank << ": " << name;
    }
    waited = waited || begins.contains("waits");
  }
  EXPECT_TRUE(waited);
  ASSERT_EQ(ends.size(), 3U);
  const auto [first, last] = std::ranges::minmax(ends);
  EXPECT_LT(last - first, 10e6)
      << "clocks that are not aligned differ by more, even on a busy machine";
  std::filesystem::remove_all(folder);
}

// docs/features.md, Launching: A quiet launcher | Success is silent.
TEST(Success, IsSilent) {
  BprunProcess joined({{"-H", kTwoHosts, rank_program(), "join", "done"}});
  EXPECT_EQ(joined.finish(), 0);
  EXPECT_EQ(joined.out() + joined.err(), "");
  BprunProcess foreign({{"-n", "3", "true"}});
  EXPECT_EQ(foreign.finish(), 0);
  EXPECT_EQ(foreign.out() + foreign.err(), "");
}

TEST(Usage, IsRefusedInALine) {
  const auto refused = [](std::vector<std::string> arguments, int code, const std::string& line) {
    BprunProcess bprun({std::move(arguments)});
    EXPECT_EQ(bprun.finish(), code);
    EXPECT_THAT(bprun.first_error_line(), HasSubstr(line));
    EXPECT_THAT(bprun.err(), Not(HasSubstr("FAILED")));
  };
  refused({"-H", "a:1,a:1", "true"}, 2, "bprun: -H: host a is named twice");
  refused({"-H", "localhost:2", "-n", "3", "true"}, 2,
          "bprun: -n 3 asks for more ranks than the 2 slots");
  refused({"--hostfile", "/no/such/file", "true"}, 66,
          "bprun: --hostfile /no/such/file: No such file or directory");
  refused({"--hosts", "/tmp", "true"}, 66, "bprun: --hosts /tmp: Is a directory");
  refused({"--interface", "nosuch0", "true"}, 2,
          "bprun: --interface nosuch0: this machine has no interface of that name, address or "
          "network; it has ");
}

// docs/acceptance.md, Failures: A deleted working directory is reported.
TEST(Usage, ADeletedWorkingDirectoryIsReported) {
  const std::vector<std::vector<std::string>> commands = {{"-n", "1", "true"},
                                                          {"--serve", "0", "-n", "1", "true"}};
  for (const auto& command : commands) {
    const Scratch scratch;
    BprunProcess bprun(
        {.arguments = command,
         .before = {"/bin/sh", "-c", "cd $0 && rmdir $0 && exec \"$@\"", scratch.path()}});
    EXPECT_EQ(bprun.finish(), 66);
    EXPECT_EQ(bprun.err(),
              "bprun: the working directory no longer exists: No such file or directory\n"
              "  hint: it was deleted or moved; cd to a folder that exists\n");
  }
}

// docs/acceptance.md, Store: bprun names the process that holds a port.
TEST(Usage, ABusyStorePortIsRefused) {
  BprunProcess bprun({{"--store-port", "0", "-n", "1", "sh", "-c",
                       kBinDir + "/bprun --store-port ${BP_STORE##*:} true; echo code $?"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), HasSubstr("code 2\n"));
  EXPECT_THAT(bprun.err(), ContainsRegex("bprun: --store-port: port [0-9]+ is held by pid [0-9]+ "
                                         "\\(.*, bprun\\); 0 takes any free one\n"));
}

}  // namespace
}  // namespace bp::test
