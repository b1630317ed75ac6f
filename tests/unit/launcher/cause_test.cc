// The cause that the failure report guesses, and the next command that it prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/resume_words.h"
#include "launcher/cli/next_command.h"
#include "launcher/process/oom_killer.h"
#include "launcher/report/likely_cause.h"

namespace bp::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string cause_of_line(const std::string& line) {
  return likely_cause({.exit_code = 1, .last_errors = {"first", line, "last"}});
}

// docs/acceptance.md, Failures: The report names the likely cause: a full disk, a busy port, too
// large an allocation, the kernel's OOM killer, a loss that is NaN.
TEST(LikelyCause, IsReadFromStderr) {
  const auto means = [](const char* line, const char* cause) {
    EXPECT_THAT(cause_of_line(line), HasSubstr(cause)) << line;
  };
  means("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "GPU memory");
  means("RuntimeError: CUDA error: out of memory", "GPU memory");
  means("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling", "GPU memory");
  means("  what():  std::bad_alloc", "out of memory: a smaller --batch");
  means("OSError: [Errno 28] No space left on device", "the disk is full");
  means("bind: Address already in use", "a port is taken");
  means("x: error while loading shared libraries: y.so", "a library is missing on that host");
  means("/lib/libc.so.6: version `GLIBC_2.99' not found", "a newer system");
  means("open: Too many open files", "ulimit -n");
  means("bert_train: cannot make shared memory: File too large", "ulimit -f");
  means("libx.so: failed to map segment from shared object", "ulimit -v");
}

TEST(LikelyCause, FindsALossThatIsNaN) {
  for (const char* line : {"the loss at step 5 is nan", "step 7/9  loss nan  12 samples/s",
                           "loss=NaN", "Loss is NaN, stopping training"}) {
    EXPECT_THAT(cause_of_line(line), HasSubstr("the loss became NaN")) << line;
  }
  for (const char* line : {"loss 0.5 of nancy", "a loss of finances", "nan before the loss"}) {
    EXPECT_EQ(cause_of_line(line), "") << line;
  }
}

TEST(LikelyCause, PrefersTheKernelsReportThenTheProgramsHintThenTheLastKnownLine) {
  const std::vector<std::string> errors{"std::bad_alloc", "No space left on device",
                                        "hint: try something else"};
  EXPECT_EQ(likely_cause({137, "the kernel killed it because the host is out of memory", errors}),
            "out of memory: the kernel killed it because the host is out of memory; fewer ranks on "
            "that host, a smaller --batch, or a higher limit");
  EXPECT_EQ(likely_cause({1, "", errors}), "try something else");
  EXPECT_EQ(likely_cause({1, "", {errors[0], errors[1]}}), "the disk is full (df -h shows which)");
}

TEST(LikelyCause, FallsBackToTheSignal) {
  EXPECT_EQ(likely_cause({128 + 9, "", {}}),
            "killed from outside, most often by the kernel when memory runs out (dmesg shows it)");
  EXPECT_EQ(likely_cause({128 + 25, "", {}}),
            "the limit of a file's size is too low (ulimit -f shows it; ulimit -f unlimited lifts "
            "it)");
  EXPECT_EQ(likely_cause({7, "", {"no idea"}}), "");
}

constexpr const char* kRecord =
    "4,1234,567890,-;Memory cgroup out of memory: Killed process 4711 (tail) total-vm:99584kB, "
    "anon-rss:64776kB, file-rss:1532kB, shmem-rss:0kB, UID:0 pgtables:232kB oom_score_adj:0";

TEST(OomKillerWords, AreFoundInTheKernelsLog) {
  EXPECT_EQ(explain_log_record(kRecord, 4711),
            "the kernel killed it because its control group is out of memory; it held 63 MiB");
  EXPECT_EQ(explain_log_record(kRecord, 471), "");
  EXPECT_EQ(explain_log_record("3,1,2,-;Out of memory: Killed process 5 (x)", 5),
            "the kernel killed it because the host is out of memory");
}

TEST(OomKillerWords, AreFoundInTheGroupsCounts) {
  EXPECT_EQ(oom_kills("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n"), 2);
  EXPECT_EQ(oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 7);
  EXPECT_FALSE(oom_kills("oom_kill_disable 0\nunder_oom 0\n"));
  EXPECT_FALSE(oom_kills(""));
}

TEST(NextCommand, IsReadyForAShell) {
  const CommandWords words{{"bin/bprun", "-n", "2", "--"}, {"my prog", "it's", ""}};
  EXPECT_EQ(next_command(words, ""), "run again: bin/bprun -n 2 -- 'my prog' 'it'\\''s' ''");
  ResumeWords told{.saved = true, .given = {"it's", ""}, .instead = {"a b", "--resume", "auto"}};
  EXPECT_EQ(next_command(words, told_words(told)),
            "resume: bin/bprun -n 2 -- 'my prog' 'a b' --resume auto");
  told.saved = false;
  EXPECT_EQ(next_command(words, told_words(told)),
            "run again: bin/bprun -n 2 -- 'my prog' 'a b' --resume auto");
}

// The command once named the script with the arguments of the program that the script calls.
TEST(NextCommand, KeepsTheWordsBeforeAWrappedProgramsArguments) {
  const CommandWords words{{"bprun"}, {"numactl", "-N", "0", "train", "x", "--resume", "never"}};
  const ResumeWords told{true, {"x", "--resume", "never"}, {"x", "--resume", "auto"}};
  EXPECT_EQ(next_command(words, told_words(told)),
            "resume: bprun numactl -N 0 train x --resume auto");
  EXPECT_EQ(next_command({{"bprun"}, {"train.sh", "big"}}, told_words(told)),
            "resume: bprun train.sh big");
}

TEST(ToldWords, RoundTrip) {
  const ResumeWords told =
      words_told(told_words({.saved = true, .given = {"", "+"}, .instead = {"a b", "", "c\n"}}));
  EXPECT_TRUE(told.saved);
  EXPECT_THAT(told.given, ElementsAre("", "+"));
  EXPECT_THAT(told.instead, ElementsAre("a b", "", "c\n"));
  const ResumeWords nothing = words_told(told_words({}));
  EXPECT_FALSE(nothing.saved);
  EXPECT_THAT(nothing.instead, IsEmpty());
  for (const std::string& text : {std::string("x"), std::string("\0\0\0", 3), std::string()}) {
    EXPECT_FALSE(words_told(text).saved);
  }
}

}  // namespace
}  // namespace bp::launcher
