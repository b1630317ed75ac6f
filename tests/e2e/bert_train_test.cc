// bert_train through its program, alone and under bprun: its exit codes, output and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/model_difference.h"
#include "tests/e2e/shell.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::largest_difference;
using test::read;
using test::shell;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct TraceLine {
  std::vector<std::int64_t> samples;
  double loss = 0;
  std::string parameters;
};
std::vector<TraceLine> read_trace(const std::string& path) {
  std::vector<TraceLine> lines;
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    const auto json = nlohmann::json::parse(text);
    TraceLine line{{}, json["loss"].get<double>(), json["parameters"].get<std::string>()};
    for (const auto& micro : json["samples"]) {
      for (const auto& id : micro) line.samples.push_back(id.get<std::int64_t>());
    }
    lines.push_back(line);
  }
  return lines;
}

// Expects a timeline with all parts of a step, and at least one all-reduce of a bucket that begins
// before backward has ended.
void expect_buckets_beside_backward(const std::string& path) {
  SCOPED_TRACE(path);
  std::ifstream in(path);
  std::set<std::string> names;
  std::vector<std::pair<double, double>> backwards;
  std::vector<double> buckets;
  for (const auto& event : nlohmann::json::parse(in)) {
    const std::string name = event["name"];
    names.insert(name);
    const double at = event.value("ts", 0.0);
    if (name == "backward") backwards.emplace_back(at, at + event["dur"].get<double>());
    if (event["ph"] == "b" && name.find("'gradients ") != std::string::npos) buckets.push_back(at);
  }
  for (const char* name : {"wait for data", "forward", "backward", "wait for gradients", "step",
                           "records", "evaluation", "checkpoint"}) {
    // Only rank 0 saves.
    if (std::string(name) != "checkpoint" || path.ends_with("-0.json")) {
      EXPECT_EQ(names.count(name), 1U) << name;
    }
  }
  const auto in_backward = [&](double at) {
    return std::ranges::any_of(backwards,
                               [&](const auto& b) { return b.first < at && at < b.second; });
  };
  EXPECT_TRUE(std::ranges::any_of(buckets, in_backward)) << buckets.size() << " buckets";
}

class BertTrain : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() +
              concat("bp_e2e_train_", ::getpid(), "_",
                     ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    std::ofstream csv(path("data.csv"));
    csv << "text,label\n";
    constexpr const char* kWords[] = {"red", "blue", "green", "stone", "river", "cloud"};
    for (int row = 0; row < 300; ++row) {
      for (int word = 0; word <= row % 17; ++word) {
        csv << kWords[(row * 5 + word * word) % 6] << ' ';
      }
      csv << row << (row % 3 == 0 ? " not good,no\n" : " good,yes\n");
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  Ended bert_train(const std::string& arguments) const {
    return shell(concat("cd ", folder_, " && " + kBinDir + "/bert_train ", arguments));
  }
  Ended bprun(const std::string& placing, const std::string& arguments) const {
    return shell(
        concat("cd ", folder_, " && " + kBinDir + "/bprun ", placing, " bert_train ", arguments));
  }

 private:
  std::string folder_;
};

// docs/acceptance.md, Optimizer: Any number of ranks, on any hosts, trains as one process does.
// docs/features.md, Launching: Hosts with different numbers of ranks | `bprun -H a:3,b:1`
TEST_F(BertTrain, LayoutsTrainTheSameModel) {
  const std::string common =
      "data.csv --model tiny --dropout 0 --max-length 64 --lr 1e-4 --epsilon 1e-6 --warmup 0 "
      "--steps 20 --eval-every 1000 ";
  struct Layout {
    std::string name;
    std::string placing;
    std::string options;
    int ranks;
  };
  const std::vector<Layout> layouts = {
      {"one", "-n 1", "--batch 32", 1},
      {"four", "-n 4", "--batch 8", 4},
      {"hosts", "-H localhost:3,127.0.0.1:1", "--batch 8", 4},
      {"shares", "-H localhost:3,127.0.0.1:1", "--batch 8 --share localhost:1,127.0.0.1:3", 4},
      {"two", "-n 2", "--batch 8 --accumulate 2", 2}};
  std::vector<TraceLine> expected;
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    const Ended ended = bprun(layout.placing, concat(common, layout.options, " --run ", layout.name,
                                                     " --trace ", layout.name, "-trace"));
    ASSERT_EQ(ended.code, 0) << ended.output;
    const auto first = read_trace(path(layout.name + "-trace/rank-0.jsonl"));
    ASSERT_EQ(first.size(), 20U);
    if (expected.empty()) expected = first;
    for (std::size_t step = 0; step < 20; ++step) {
      EXPECT_NEAR(first[step].loss, expected[step].loss, 1e-6);
    }
    for (int rank = 1; rank < layout.ranks; ++rank) {
      const auto other = read_trace(path(concat(layout.name, "-trace/rank-", rank, ".jsonl")));
      ASSERT_EQ(other.size(), 20U);
      for (std::size_t step = 0; step < 20; ++step) {
        EXPECT_EQ(other[step].parameters, first[step].parameters) << rank << " " << step;
      }
    }
    EXPECT_LE(largest_difference(path("one/model/model.safetensors"),
                                 path(layout.name + "/model/model.safetensors")),
              2e-5);
  }
}

// docs/acceptance.md, Runs: A run writes all its files, and its scores can be computed again from
// them.
TEST_F(BertTrain, ARunWritesAllItsFilesAndItsScoresAreReproducible) {
  const Ended trained = bprun("-H localhost:2,127.0.0.1:1",
                              "data.csv --model tiny --epochs 2 --batch 8 --run r --trace t");
  ASSERT_EQ(trained.code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("test: accuracy"));
  EXPECT_THAT(trained.output, HasSubstr("r/report.html"));
  for (const char* file : {"model/config.json", "model/model.safetensors", "model/vocab.txt",
                           "model/tokenizer_config.json", "config.yaml", "metrics.jsonl",
                           "predictions.csv", "summary.json", "report.html"}) {
    EXPECT_TRUE(std::filesystem::exists(path(concat("r/", file)))) << file;
  }
  // By the traces of all ranks, each of the 240 rows for training was used once in each of two
  // epochs.
  std::multiset<std::int64_t> seen;
  for (int rank = 0; rank < 3; ++rank) {
    for (const TraceLine& line : read_trace(path(concat("t/rank-", rank, ".jsonl")))) {
      seen.insert(line.samples.begin(), line.samples.end());
    }
  }
  EXPECT_EQ(seen.size(), 480U);
  for (const std::int64_t id : seen) EXPECT_EQ(seen.count(id), 2U) << id;
  for (int rank = 0; rank < 3; ++rank) {
    expect_buckets_beside_backward(path(concat("t/rank-", rank, ".json")));
  }

  // The lines of scores, the confusion matrix and the classification report.
  const auto scores = [](const std::string& output) {
    const std::size_t at = output.find("test: accuracy");
    std::string lines = output.substr(at, output.find("weighted avg", at) - at);
    const std::string rank = "[0] ";  // bprun writes it before each line
    for (std::size_t i = 0; (i = lines.find(rank, i)) != std::string::npos;) {
      lines.erase(i, rank.size());
    }
    return lines;
  };
  EXPECT_THAT(scores(trained.output),
              AllOf(HasSubstr("MCC "), HasSubstr("ROC AUC "), HasSubstr("ECE ")));
  for (const int ranks : {1, 3, 4}) {
    SCOPED_TRACE(ranks);
    const Ended again = bprun(concat("-n ", ranks), concat("eval r --out p", ranks, ".csv"));
    ASSERT_EQ(again.code, 0) << again.output;
    EXPECT_EQ(scores(again.output), scores(trained.output));
    EXPECT_EQ(read(path(concat("p", ranks, ".csv"))), read(path("r/predictions.csv")));
  }
  const Ended model = bert_train("eval r/model data.csv --vocab \"\" --split 0.8,0.1,0.1");
  EXPECT_EQ(model.code, 0) << model.output;
  EXPECT_EQ(scores(model.output), scores(trained.output));

  const auto summary = nlohmann::json::parse(read(path("r/summary.json")));
  EXPECT_EQ(summary["world"], 3);
  EXPECT_EQ(summary["hosts"], 2);
  EXPECT_EQ(summary["epochs"], 2);
  EXPECT_TRUE(summary.contains("dev") && summary.contains("test"));
}

// docs/features.md, Use: Help with trouble | messages with a way out, docs/faults.md
TEST_F(BertTrain, MistakesHaveOneLineAHintAndTheirExitCode) {
  std::ofstream(path("empty.csv"));
  std::ofstream(path("same.csv")) << "text,label\none,a\ntwo,a\n";
  std::ofstream(path("quote.csv")) << "text,label\n\"a,b\n";
  std::ofstream(path("latin.csv")) << "text,label\nfine,a\nbad \xff,b\n";
  std::filesystem::create_directories(path("taken"));
  std::ofstream(path("taken/letter.txt"));
  struct Case {
    std::string arguments;
    int code;
    std::string says;
  };
  const std::vector<Case> cases = {
      {"data.csv --epoch 3", 2, "unknown option --epoch\nhint: did you mean "},
      {"data.csv --model tinny", 2, "did you mean "},
      {"data.csv --run taken", 2, "--run"},
      {"data.csv --text words", 2, "words"},
      {"nothing.csv", 66, "nothing.csv"},
      {"empty.csv", 65, "empty.csv"},
      {"same.csv", 65, "all rows have the same label, 'a'"},
      {"quote.csv", 65, "quote"},
      {"latin.csv", 65, "UTF-8"},
      {"eval nothing data.csv", 66, "no model in nothing"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.arguments);
    const Ended ended = bert_train(c.arguments + " >/dev/null");
    EXPECT_EQ(ended.code, c.code);
    EXPECT_THAT(ended.output, StartsWith("bert_train: "));
    EXPECT_THAT(ended.output, HasSubstr(c.says));
    EXPECT_THAT(ended.output, HasSubstr("\nhint: "));
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 2) << ended.output;
    EXPECT_FALSE(std::filesystem::exists(path("runs/data")));
  }
  // No unfinished store may be left.
  for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
    if (entry.path().filename() == "same.sqlite") continue;  // this store itself is valid
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".sqlite"))) << entry.path();
  }
  // Several ranks must print the hint once, too, and end with the same code.
  const Ended ranks = bprun("-n 3", "quote.csv");
  EXPECT_EQ(ranks.code, 65) << ranks.output;
  std::size_t hints = 0;
  for (std::size_t at = 0; (at = ranks.output.find("] hint: ", at)) != std::string::npos; ++at) {
    ++hints;
  }
  EXPECT_EQ(hints, 1U) << ranks.output;
}

// The others wait until bprun stops them, so that it does not stop the rank that says why.
TEST_F(BertTrain, AMistakeIsPrintedAlsoIfRank0BeginsLate) {
  const Ended ended = shell(concat(kBinDir, "/bprun -n 2 sh -c \"[ \\$RANK = 1 ] || sleep 1; exec ",
                                   kBinDir, "/bert_train x.csv --no-such-option\""));
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output, HasSubstr("[0] bert_train: unknown option --no-such-option\n"));
  EXPECT_THAT(ended.output, Not(HasSubstr("run again")));
}

// docs/acceptance.md, Other engines: A backend that does not exist has an exit code of its own.
TEST_F(BertTrain, AMissingBackendHasItsOwnExitCode) {
  const Ended ended = bprun("-n 2 --env BP_BACKEND=gloo --env BP_PLUGIN_DIR=/nowhere", "data.csv");
  EXPECT_EQ(ended.code, 69) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("libbp_gloo.so was not found in: /nowhere"));
}

// A copy of the program elsewhere does not find libbp_trainer.so, which brings LibTorch.
TEST_F(BertTrain, TheHelpAndErrorsInArgumentsNeedNoLibTorch) {
  std::filesystem::create_directory(path("alone"));
  std::filesystem::copy(kBinDir + "/bert_train", path("alone/bert_train"));
  const auto alone = [this](const std::string& arguments) {
    return shell(concat(path("alone/bert_train "), arguments));
  };
  const Ended help = alone("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, HasSubstr("Usage: bert_train [OPTIONS] DATA"));
  EXPECT_EQ(alone("--nonsense").code, 2);
  const Ended training = alone("data.csv --text text --label label");
  EXPECT_EQ(training.code, 69);
  EXPECT_THAT(training.output, StartsWith("bert_train: libbp_trainer.so was not found in: "));
  EXPECT_THAT(training.output, HasSubstr("\nhint: install bp again as a whole\n"));
}

TEST_F(BertTrain, ALimitOfAddressSpaceIsNamedAsTheReason) {
  const Ended ended = shell("ulimit -v 400000; " + kBinDir + "/bert_train data.csv");
  EXPECT_EQ(ended.code, 69) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("failed to map segment"));
  EXPECT_THAT(ended.output,
              HasSubstr("\nhint: too little address space or memory is allowed: try ulimit -v "));
}

TEST_F(BertTrain, TellsHowItMultipliesBf16) {
  const std::string processor = read("/proc/cpuinfo");
  const bool x86 = processor.find("GenuineIntel") != std::string::npos ||
                   processor.find("AuthenticAMD") != std::string::npos;
  const bool widens = x86 && processor.find(" avx512bw ") == std::string::npos;
  const Ended ended =
      bprun("-n 2", "data.csv --model tiny --max-length 16 --batch 2 --steps 1 --precision bf16");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output,
              HasSubstr(widens ? "precision bf16: LibTorch multiplies the numbers of bf16 in fp32"
                               : "precision bf16: LibTorch multiplies bf16"));
}

// The folder of the second run holds a checkpoint in a precision that auto never chooses, as if
// another processor had chosen it.
// docs/features.md, Optimization: bf16, fp16 with loss scaling, or the fastest type of the
// processors or GPUs | `--precision`, `--loss-scale`
TEST_F(BertTrain, AutomaticPrecisionIsChosenOnceForARun) {
  const bool has_bf16 = read("/proc/cpuinfo").find(" avx512_bf16 ") != std::string::npos;
  const std::string chosen = has_bf16 ? "bf16" : "fp32";
  const std::string options = "data.csv --model tiny --max-length 16 --batch 2 --save-every 1";
  const Ended ended = bprun("-n 2", options + " --steps 1 --precision auto --run first");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("precision " + chosen + ", chosen by auto"));
  EXPECT_THAT(read(path("first/config.yaml")), HasSubstr("\nprecision: " + chosen));

  EXPECT_EQ(bert_train(options + " --steps 1 --precision fp16 --run second").code, 0);
  const Ended resumed = bprun("-n 2", options + " --steps 2 --precision auto --run second");
  EXPECT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("precision fp16, chosen by auto"));
  EXPECT_THAT(read(path("second/config.yaml")), HasSubstr("\nprecision: fp16"));
  EXPECT_THAT(resumed.output, Not(HasSubstr("precision is ")));
}

TEST_F(BertTrain, SigtermSavesACheckpointAndExits75) {
  const Ended ended = shell(
      concat("cd ", path(""),
             " && (" + kBinDir +
                 "/bert_train data.csv --model tiny --steps 1000000 --run r > log & pid=$!; "
                 "for i in $(seq 600); do grep -q step r/metrics.jsonl && break; sleep 0.1; done; "
                 "kill -TERM $pid; wait $pid; code=$?; cat log; exit $code)"));
  EXPECT_EQ(ended.code, 75) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("stopped on request after step"));
  EXPECT_THAT(ended.output,
              HasSubstr("bert_train data.csv --model tiny --steps 1000000 --run r\n"));
  EXPECT_TRUE(std::filesystem::exists(path("r/checkpoints/latest/model.safetensors")));
  EXPECT_EQ(bert_train("eval r").code, 0) << "eval must use the model of the last checkpoint";
}

}  // namespace
}  // namespace bp::trainer
