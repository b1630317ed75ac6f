// Runs that are stopped or killed and then resumed, through the programs that users run. Most have
// three ranks on one logical host and one on another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/e2e/shell.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::read;
using test::shell;
using ::testing::HasSubstr;

constexpr const char* kUneven = "-H localhost:3,127.0.0.1:1";

class Resume : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = ::testing::TempDir() + concat("bp_e2e_resume_", ::getpid());
    fs::create_directories(folder_);
    fs::copy(kSourceDir + "/examples/reviews.csv", folder_ + "/reviews.csv");
    whole_ = in_folder(bprun(kUneven, "--run whole"));
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static std::string path(const std::string& name) { return folder_ + "/" + name; }
  static Ended in_folder(const std::string& command) {
    return shell(concat("cd ", folder_, " && ", command));
  }
  // A run of 50 steps per epoch: short, but long enough to be interrupted.
  static std::string bprun(const std::string& placing,
                           const std::string& options,
                           const std::string& model = "tiny") {
    return concat(kBinDir + "/bprun ", placing,
                  " bert_train reviews.csv --text review --label label --model ", model,
                  " --batch 16 --epochs 2 --save-every 20 ", options);
  }
  // Starts the command, waits until metrics.jsonl of the run has a line that matches `line`, and
  // runs the shell commands `then`.
  static Ended interrupted(const std::string& command,
                           const std::string& run,
                           const std::string& line,
                           const std::string& then) {
    return in_folder(concat("{ ", command,
                            " > log 2>&1 & pid=$!; for i in $(seq 1200); do grep -q \"", line,
                            "\" ", run, "/metrics.jsonl 2> /dev/null && break; sleep 0.05; done; ",
                            then, "; wait $pid; code=$?; cat log; exit $code; }"));
  }
  static void expect_same_result(const std::string& run) {
    ASSERT_EQ(whole_.code, 0) << whole_.output;
    EXPECT_EQ(read(path(run + "/model/model.safetensors")),
              read(path("whole/model/model.safetensors")));
    EXPECT_EQ(read(path(run + "/predictions.csv")), read(path("whole/predictions.csv")));
    EXPECT_NE(read(path("whole/model/model.safetensors")), "");
  }
  static std::string line_after(const std::string& output, const std::string& words) {
    const std::size_t at = output.find(words);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + words.size();
    return output.substr(begin, output.find('\n', begin) - begin);
  }

  static std::string folder_;
  static Ended whole_;
};
std::string Resume::folder_;
Ended Resume::whole_;

// docs/acceptance.md, Runs: The command that a stopped run prints resumes it.
TEST_F(Resume, AStoppedRunIsResumedByTheCommandItPrints) {
  const auto with_variable = [](const std::string& variable, const std::string& options) {
    return bprun(concat(kUneven, " --output out --env ", variable, " --grace 20s"), options);
  };
  const Ended stopped = interrupted(with_variable("BP_MINE=1", "--run stopped --resume never"),
                                    "stopped", "step.:30,", "kill -TERM $pid");
  ASSERT_EQ(stopped.code, 75) << stopped.output;
  const std::string printed = line_after(stopped.output, "resume with: ");
  EXPECT_EQ(printed, with_variable("BP_MINE", "--run stopped --resume auto"))
      << "the command must have all of bprun's options, and no value of a variable";
  const std::string command = "BP_MINE=1 " + printed;
  const Ended resumed = in_folder(command);
  ASSERT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("resuming from stopped/checkpoints/step-"));
  expect_same_result("stopped");

  const Ended again = in_folder(command);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.output, HasSubstr("the run in stopped is finished, with 100 steps"));
  const Ended never =
      in_folder(concat(command.substr(0, command.find("--resume auto")), "--resume never"));
  EXPECT_EQ(never.code, 2);
  EXPECT_THAT(never.output, HasSubstr("the run's folder stopped already exists"));
}

// docs/acceptance.md, Precision: Error feedback makes a narrow wire round less, and resumes to the
// same bits.
TEST_F(Resume, WithErrorFeedbackARunContinuesToTheSameBits) {
  for (const std::string wire : {"bf16", "int8"}) {
    const std::string options = concat("--wire ", wire, wire == "bf16" ? " --error-feedback" : "",
                                       " --keep 9 --run ", wire);
    const Ended fed = in_folder(bprun(kUneven, options + "-fed"));
    ASSERT_EQ(fed.code, 0) << fed.output;
    const std::string checkpoint = concat(wire, "-fed/checkpoints/step-80");
    const Ended again = in_folder(bprun(kUneven, options + "-rest --resume " + checkpoint));
    ASSERT_EQ(again.code, 0) << again.output;
    const std::string weights = read(path(concat(wire, "-fed/model/model.safetensors")));
    EXPECT_TRUE(read(path(concat(wire, "-rest/model/model.safetensors"))) == weights) << wire;
    EXPECT_FALSE(weights == read(path("whole/model/model.safetensors"))) << "the wire must round";
  }
}

// docs/acceptance.md, Runs: A run whose ranks share the weights computes what one without computes,
// and each goes on from a checkpoint of the other.
TEST_F(Resume, BetweenSharedAndPrivateWeightsARunContinuesToTheSameBits) {
  struct Job {
    std::string ranks;
    std::string extra;
    std::string shard;
  };
  const std::vector<Job> jobs = {{"-n 3", "", "optimizer"},
                                 {"-n 3", "--precision bf16 --ema 0.9", "gradients"},
                                 {kUneven, "--optimizer sgd --lr 0.1", "host"},
                                 {kUneven, "--optimizer lamb --layer-decay 0.5", "optimizer"},
                                 {kUneven, "", "optimizer --shard-shares localhost:1,127.0.0.1:2"},
                                 {kUneven, "", "gradients --shard-shares auto"},
                                 {kUneven, "--accumulate 2 --unfreeze-every 1", "parameters"},
                                 {kUneven, "--precision bf16 --checkpoint-activations --r-drop 1",
                                  "parameters --shard-shares localhost:0,127.0.0.1:1"}};
  for (const auto& [ranks, extra, shard] : jobs) {
    const auto run = [&](const std::string& options) {
      const Ended ended =
          in_folder(bprun(ranks, concat(extra, " --keep 9 --resume never ", options)));
      EXPECT_EQ(ended.code, 0) << ended.output;
    };
    const auto weights = [&](const std::string& name) {
      return read(path(name + "/model/model.safetensors"));
    };
    run("--run plain --shard none");
    run("--run shared --shard " + shard);
    EXPECT_NE(weights("plain"), "");
    EXPECT_TRUE(weights("plain") == weights("shared")) << extra;
    for (const std::string file : {"optimizer", "model"}) {
      const std::string name = concat("/checkpoints/step-80/", file, ".safetensors");
      EXPECT_TRUE(read(path("plain" + name)) == read(path("shared" + name))) << extra << name;
    }
    const auto go_on = [&](const std::string& options) {
      const Ended ended = in_folder(bprun(ranks, concat(extra, " --keep 9 ", options)));
      EXPECT_EQ(ended.code, 0) << ended.output;
    };
    go_on(concat("--run a --resume plain/checkpoints/step-40 --shard ", shard));
    go_on("--run b --shard none --resume shared/checkpoints/step-40");
    EXPECT_TRUE(weights("a") == weights("plain")) << extra;
    EXPECT_TRUE(weights("b") == weights("plain")) << extra;
    for (const char* name : {"plain", "shared", "a", "b"}) fs::remove_all(path(name));
  }
}

// docs/acceptance.md, Unequal machines: A run with unequal shares trains on the same rows in each
// step, and resumes to the same bits.
TEST_F(Resume, WithUnequalSharesARunContinuesToTheSameBits) {
  const std::string shares = "--share localhost:1,127.0.0.1:3 --keep 9 --run ";
  const Ended ended = in_folder(bprun(kUneven, shares + "unequal --resume never"));
  ASSERT_EQ(ended.code, 0) << ended.output;
  const Ended again =
      in_folder(bprun(kUneven, shares + "unequal-rest --resume unequal/checkpoints/step-40"));
  ASSERT_EQ(again.code, 0) << again.output;
  const auto weights = [&](const std::string& run) {
    return read(path(run + "/model/model.safetensors"));
  };
  EXPECT_TRUE(weights("unequal-rest") == weights("unequal"));
  EXPECT_FALSE(weights("unequal") == weights("whole")) << "sums have another order";
}

// bprun once offered to resume such a run, by a command with --resume never.
// docs/acceptance.md, Runs: The command that a run prints restarts it if it fails before it saves.
TEST_F(Resume, ARunThatFailsBeforeItSavesIsRestartedByTheCommandItPrints) {
  std::ofstream(path("begun")) << "#!/bin/sh\necho $$ > begun.$RANK\nexec " + kBinDir +
                                      "/bert_train \"$@\"\n";
  fs::permissions(path("begun"), fs::perms::owner_all);
  std::string command = bprun("-n 2", "--run early --resume never");
  command.replace(command.find(" bert_train "), 12, " ./begun ");
  const std::string usual = "--epochs 2 --save-every 20";  // may save before the kill
  command.replace(command.find(usual), usual.size(), "--epochs 200 --save-every 10000");
  const Ended killed = interrupted(command, "early", "step.:", "kill -KILL $(cat begun.1)");
  ASSERT_EQ(killed.code, 128 + 9) << killed.output;
  const std::string again = line_after(killed.output, "run again: ");
  EXPECT_EQ(again, command.replace(command.find("never"), 5, "auto"));
  EXPECT_EQ(killed.output.find("resume: "), std::string::npos);
  const Ended begun = in_folder(again + " --steps 2");
  EXPECT_EQ(begun.code, 0) << begun.output;
  EXPECT_THAT(begun.output, HasSubstr("no checkpoint yet in early: starting at step 0"));
}

// docs/features.md, Loop and checkpoints: Resuming from the folder of the run | the same command
TEST_F(Resume, AKilledRunIsResumedByTheSameCommand) {
  const std::string command = bprun(kUneven, "--run killed");
  for (const char* step : {"step.:7,", "step.:33,"}) {
    const Ended killed = interrupted(command, "killed", step, "kill -KILL $pid");
    ASSERT_EQ(killed.code, 128 + 9) << killed.output;
  }
  const Ended resumed = in_folder(command);
  ASSERT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("resuming from killed/checkpoints/step-"));
  expect_same_result("killed");
}

// scripts/acceptance resume_divided kills more often, with each --shard.
TEST_F(Resume, KilledRanksThatDivideTheStateLeaveTheUndisturbedBits) {
  const std::vector<std::string> jobs = {"-n 2 -- --shard optimizer",
                                         "-H localhost:2,127.0.0.1:1 -- --shard parameters"};
  for (std::string job : jobs) {
    job.insert(job.find("--shard"),
               "reviews.csv --text review --label label --model tiny "
               "--batch 12 --max-length 24 ");
    const Ended ended =
        in_folder(concat("OMP_NUM_THREADS=1 ", kSourceDir, "/tests/acceptance/shard_kills.py ",
                         kBinDir, " divided --kills 4 -- ", job));
    EXPECT_EQ(ended.code, 0) << ended.output;
    fs::remove_all(path("divided"));
  }
}

// Both generations have the same hosts, so the parameters must equal those of an undisturbed run,
// bit for bit.
// docs/acceptance.md, Recovery and restarts: A training run with a killed rank and a restart ends
// with the parameters of an undisturbed run.
TEST_F(Resume, WithRestartsARunSurvivesAKilledRank) {
  std::ofstream(path("rank")) << "#!/bin/sh\necho $$ > pid.$RANK\nexec " + kBinDir +
                                     "/bert_train \"$@\"\n";
  fs::permissions(path("rank"), fs::perms::owner_all);
  std::random_device random;
  const unsigned step = 21 + random() % 70;
  const unsigned rank = random() % 4;
  SCOPED_TRACE(concat("rank ", rank, " killed at step ", step));
  std::string command = bprun(concat(kUneven, " --max-restarts 2"), "--run again");
  command.replace(command.find(" bert_train "), 12, " ./rank ");
  const Ended ended = interrupted(command, "again", concat("step.:", step, ","),
                                  concat("kill -KILL $(cat pid.", rank, ")"));
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("bprun: restart 1 of 2 in 0.5 s, with 4 ranks on "
                                      "localhost:3,127.0.0.1:1\n"));
  EXPECT_THAT(ended.output, HasSubstr("resuming from again/checkpoints/step-"));
  expect_same_result("again");
}

// docs/features.md, Loop and checkpoints: A stop by file or signal | `bert_train stop`, Ctrl-C
TEST_F(Resume, StopAsksTheRunningRunToSaveAndEnd) {
  const Ended stopped = interrupted(bprun("-n 2", "--run asked"), "asked", "step.:10,",
                                    kBinDir + "/bert_train stop asked");
  EXPECT_EQ(stopped.code, 75) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("asked the run in asked to save and end"));
  EXPECT_FALSE(fs::exists(path("asked/stop")));
  const Ended not_running = in_folder(kBinDir + "/bert_train stop asked");
  EXPECT_EQ(not_running.code, 66);
  EXPECT_THAT(not_running.output, HasSubstr("no run is active in asked"));
  const Ended other = in_folder(bprun("-n 2", "--run asked", "mini"));
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.output,
              HasSubstr("the model's hidden_size is 128 in the checkpoint, 256 here"));
}

// docs/acceptance.md, Runs: A run resumes with 4, then 2, then 1 rank, and uses each row once an
// epoch.
// docs/features.md, Loop and checkpoints: Resuming with another number of ranks | the same command
TEST_F(Resume, FourRanksThenTwoThenOneUseEachRowOncePerEpoch) {
  const auto part = [](const std::string& placing) {
    // Each rank has one thread, because ranks of several threads that wait for each other are very
    // slow on a busy machine.
    return "BP_SELECTION=selection OMP_NUM_THREADS=1 " +
           bprun(placing, "--run worlds --trace worlds-trace");
  };
  std::ofstream(path("selection")) << "all_reduce gloo 4 2 - ring\n";
  ASSERT_EQ(interrupted(part(kUneven), "worlds", "step.:30,", "kill -USR1 $pid").code, 75);
  std::ofstream(path("selection")) << "all_reduce gloo 4 2 - double_tree\n";
  const Ended two = interrupted(part("-n 2"), "worlds", "step.:90,", "kill -USR2 $pid");
  ASSERT_EQ(two.code, 75) << two.output;
  EXPECT_THAT(two.output, HasSubstr("ranks of each host is 3,1 in the checkpoint, 2 here"));
  EXPECT_THAT(two.output, HasSubstr("algorithm is selection "));
  const Ended one = in_folder(part("-n 1"));
  ASSERT_EQ(one.code, 0) << one.output;
  const Ended checked = in_folder("python3 " + kSourceDir +
                                  "/tests/e2e/check_trace.py worlds-trace reviews.sqlite 2");
  EXPECT_EQ(checked.code, 0) << checked.output;
}

}  // namespace
}  // namespace bp::trainer
