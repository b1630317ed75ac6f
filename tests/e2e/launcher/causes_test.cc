// Programs that really fail in the ways whose causes the failure report guesses, and the command at
// the end of the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "base/text.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/support/memory_limit.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string bprun_path() { return kBinDir + "/bprun"; }

// docs/acceptance.md, Failures: The report names the likely cause: a full disk, a busy port, too
// large an allocation, the kernel's OOM killer, a loss that is NaN.
TEST(Cause, AFullDisk) {
  BprunProcess bprun({{"-n", "2", "sh", "-c", "LC_ALL=C cat /proc/version >/dev/full"}});
  EXPECT_EQ(bprun.finish(), 1);
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: the disk is full (df -h shows which)\n"));
}

// docs/features.md, Use: Help with trouble | messages with a way out, docs/faults.md
TEST(Cause, ABusyPort) {
  BprunProcess bprun({{"-n", "1", rank_program(), "bind"}});
  EXPECT_EQ(bprun.finish(), 1);
  EXPECT_THAT(bprun.err(), HasSubstr("    | bind: Address already in use\n  hint: a port is taken "
                                     "by another program (ss -ltnp shows which)\n"));
}

// Sanitizers report this in other words.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Cause, TooLargeAnAllocation) {
  BprunProcess bprun({{"-n", "1", rank_program(), "allocate"}});
  EXPECT_EQ(bprun.finish(), 128 + SIGABRT);
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: out of memory: a smaller --batch, or fewer ranks"));
}
#endif

TEST(Cause, ALossThatIsNaN) {
  BprunProcess bprun({{"-n", "1", "sh", "-c", "echo 'step 7/9 (77%)  loss nan' >&2; exit 70"}});
  EXPECT_EQ(bprun.finish(), 70);
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: the loss became NaN; "));
}

TEST(Cause, TheProgramsOwnHintIsRepeated) {
  BprunProcess bprun({{"-n", "1", "sh", "-c",
                       "echo 'x: No space left on device' >&2; echo hint: ask Eve >&2; exit 1"}});
  EXPECT_EQ(bprun.finish(), 1);
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: ask Eve\n"));
}

// With sanitizers, bprun would be the largest process.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// docs/features.md, Evaluation and reports: A warning before memory runs out | always, with the
// trend. If the kernel kills a rank, the report says so.
TEST(Cause, TheKernelsOomKiller) {
  const MemoryLimit limit;
  if (!limit.exists()) {
    GTEST_SKIP() << "this machine permits no new control groups";
  }
  // bprun, its agent and both ranks are in the group. Rank 1 reads without end and is the largest.
  BprunProcess bprun(
      {{"-n", "1", "--prefix", "none", "sh", "-c",
        concat("echo $$ >", limit.members(), "; exec ", bprun_path(),
               " -n 2 sh -c '[ $RANK = 0 ] && exec sleep 1000; exec tail /dev/zero'")}});
  EXPECT_EQ(bprun.finish(), 137);
  EXPECT_THAT(bprun.err(), ContainsRegex("FAILED  rank 1 .*was killed by signal 9"));
  EXPECT_THAT(bprun.err(), ContainsRegex("  hint: out of memory: (the kernel killed it because its "
                                         "control group is|its control group ran) out of memory"));
}
#endif

// docs/features.md, Launching: The number of threads of a rank | bprun sets `OMP_NUM_THREADS`
// within CPU quotas and without hyperthreads. Threads sleep sooner on a machine that others use.
TEST(CpuQuota, ThreadsFollowIt) {
  const CpuLimit limit;
  if (!limit.exists()) {
    GTEST_SKIP() << "this machine permits no new control groups";
  }
  const auto in_group = [&limit](const std::string& command) {
    BprunProcess bprun({{"-n", "1", "--prefix", "none", "sh", "-c",
                         concat("unset OMP_NUM_THREADS; echo $$ >", limit.members(), "; exec ",
                                bprun_path(), command)}});
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
    return bprun.out();
  };
  EXPECT_EQ(in_group(" -n 1 --prefix none sh -c 'echo $OMP_NUM_THREADS'"), "1\n");
  EXPECT_THAT(in_group(" doctor"), HasSubstr(", for the time of 1.5 (quota of the control group); "
                                             "OMP_NUM_THREADS divides 1\n"));
}

TEST(NextCommandLine, IsTheSameWithoutInformationFromTheProgram) {
  BprunProcess bprun({{"-n", "2", "--start-timeout", "9s", "--", "sh", "-c", "exit 3", "it's"}});
  EXPECT_EQ(bprun.finish(), 3);
  EXPECT_THAT(bprun.err(),
              EndsWith(concat("\n  run again: ", bprun_path(),
                              " -n 2 --start-timeout 9s -- sh -c 'exit 3' 'it'\\''s'\n")));
}

// docs/acceptance.md, Failures: The last line of the report is the command to run next.
TEST(NextCommandLine, ResumesAProgramThatStoresItsArguments) {
  BprunProcess bprun({{"-n", "2", rank_program(), "join", "resumable"}});
  EXPECT_EQ(bprun.finish(), 3);
  const std::string command = concat(bprun_path(), " -n 2 ", rank_program(), " join done 'a b'");
  EXPECT_THAT(bprun.err(), EndsWith(concat("\n  resume: ", command, "\n")));
  BprunProcess again({{"-n", "1", "--prefix", "none", "sh", "-c", command}});
  EXPECT_EQ(again.finish(), 0) << "a shell must be able to run the printed command";
}

TEST(NextCommandLine, IsAbsentIfNoRankRan) {
  BprunProcess bprun({{"-n", "2", "no_such_program"}});
  EXPECT_EQ(bprun.finish(), 127);
  EXPECT_THAT(bprun.err(), Not(HasSubstr("run again")));
}

TEST(NextCommandLine, IsAbsentIfTheProgramRefusedItsOptionsOrItsInput) {
  for (const char* const code : {"2", "65", "66"}) {
    BprunProcess bprun({{"-n", "2", "sh", "-c", concat("exit ", code)}});
    EXPECT_EQ(bprun.finish(), std::stoi(code));
    EXPECT_THAT(bprun.err(), Not(HasSubstr("run again"))) << code;
  }
}

TEST(NextCommandLine, IsPrintedOnceAfterAllRestarts) {
  BprunProcess bprun({{"-n", "1", "--max-restarts", "1", "sh", "-c", "exit 3"}});
  EXPECT_EQ(bprun.finish(), 3);
  const std::string line =
      concat("run again: ", bprun_path(), " -n 1 --max-restarts 1 sh -c 'exit 3'\n");
  EXPECT_THAT(bprun.err(), EndsWith("bprun: " + line));
  EXPECT_EQ(bprun.err().find(line), bprun.err().rfind(line));
}

}  // namespace
}  // namespace bp::test
