// Defects that trainers which bp replaces had. Each test is named for what must not happen, and
// looks at what the programs write.
// docs/acceptance.md, Training: Defects that other trainers had do not occur: rows shared by ranks,
// masks of folded texts, schedules that are too long, options without effect, and more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using nlohmann::json;
using test::Ended;
using test::read;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;

constexpr int kTrainRows = 104;
constexpr int kTestRows = 600;
constexpr int kStepsOfEpoch = 5;  // of 24 rows, the last of 8

class KnownDefects : public test::FolderSuite<KnownDefects> {
 protected:
  static void SetUpTestSuite() {
    make_folder();
    write_rows("train.csv", kTrainRows, 0);
    write_rows("dev.csv", 30, 5000);
    write_rows("test.csv", kTestRows, 9000);
    output_of(
        concat(kBinDir + "/bprun -n 4 ", kTrain, "--batch 3 --accumulate 2 --run four --trace t"));
  }

  static void write_rows(const std::string& name, int rows, int first) {
    std::ofstream csv(path(name));
    csv << "text,label\n";
    for (int row = first; row < first + rows; ++row) {
      csv << "The film number " << row << (row % 3 == 0 ? " is bad,no\n" : " is good,yes\n");
    }
  }
  static std::vector<json> lines_of(const std::string& name) {
    std::ifstream file(path(name));
    std::vector<json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
    return lines;
  }
  // The lines of metrics.jsonl about steps.
  static std::vector<json> steps_of(const std::string& run) {
    std::vector<json> steps = lines_of(run + "/metrics.jsonl");
    std::erase_if(steps, [](const json& line) { return line.contains("split"); });
    return steps;
  }
  // The samples that a rank of the run with four took, in order, for each epoch.
  static std::vector<std::vector<std::int64_t>> samples_of(int rank) {
    std::vector<std::vector<std::int64_t>> epochs(2);
    std::size_t step = 0;
    for (const json& line : lines_of(concat("t/rank-", rank, ".jsonl"))) {
      for (const json& batch : line["samples"]) {
        for (const json& sample : batch) epochs[step / kStepsOfEpoch].push_back(sample);
      }
      ++step;
    }
    return epochs;
  }

  // The command with an option, which it may have with another value.
  static std::string with(std::string command, const std::string& option) {
    const std::string name = option.substr(0, option.find(' ') + 1);
    const std::size_t at = command.find(name);
    if (at != std::string::npos) {
      command.erase(at, command.find(' ', at + name.size()) + 1 - at);
    }
    return command + option;
  }

  inline static const std::string kTrain =
      kBinDir + "/bert_train train.csv --dev dev.csv --test test.csv --model tiny --epochs 2 ";
};

// A sampler that was keyed by the number of the host gave all its ranks the same rows.
TEST_F(KnownDefects, RanksOfAHostTrainOnTheSameRows) {
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<std::int64_t> all;
    for (int rank = 0; rank < 4; ++rank) {
      const std::vector<std::int64_t> own = samples_of(rank)[epoch];
      EXPECT_EQ(own.size(), kTrainRows / 4) << "rank " << rank;
      all.insert(all.end(), own.begin(), own.end());
    }
    const std::set<std::int64_t> once(all.begin(), all.end());
    EXPECT_EQ(all.size(), kTrainRows);
    EXPECT_EQ(once.size(), kTrainRows);
  }
}

// docs/features.md, Splits and batches: Another order in each epoch, without messages between ranks
// | always
TEST_F(KnownDefects, TheOrderIsTheSameInEachEpoch) {
  for (int rank = 0; rank < 4; ++rank) {
    const auto epochs = samples_of(rank);
    EXPECT_NE(epochs[0], epochs[1]) << "rank " << rank;
  }
}

// With three hosts or more, ranks were computed from the first host's number of GPUs.
TEST_F(KnownDefects, RanksOfThreeUnequalHostsOverlap) {
  for (const char* hosts :
       {"localhost:2,127.0.0.1:3,127.0.0.2:1", "127.0.0.2:1,localhost:2,127.0.0.1:3",
        "127.0.0.1:3,127.0.0.2:1,localhost:2"}) {
    const std::string ranks =
        output_of(concat(kBinDir + "/bprun -H ", hosts,
                         " sh -c \"echo rank \\$RANK/\\$LOCAL_RANK/\\$WORLD_SIZE\" | sort"));
    int rank = 0;
    std::istringstream sizes(hosts);
    for (std::string host; std::getline(sizes, host, ',');) {
      const int size = host.back() - '0';
      for (int local = 0; local < size; ++local, ++rank) {
        EXPECT_THAT(ranks, HasSubstr(concat("rank ", rank, '/', local, "/6"))) << hosts;
      }
    }
  }
}

// The rest of a long text had the attention mask of its beginning.
// docs/features.md, Input: Long texts folded, each part with the label and a mask of its own |
// `--long-text fold`
TEST_F(KnownDefects, APartOfAFoldedTextHasTheMaskOfAnother) {
  output_of(concat(kTrain, "--max-length 7 --run short --store short.sqlite"));
  std::ofstream(path("long.csv")) << "text,label\nthe film number is good bad film,yes\n";
  std::ofstream(path("parts.csv")) << "text,label\nthe film number is good,yes\nbad film,yes\n";
  const std::string folded =
      output_of(kBinDir + "/bert_train predict short long.csv --max-length 7 --answer-per sample");
  const std::string parts =
      output_of(kBinDir + "/bert_train predict short parts.csv --max-length 7");
  // The rows without their ids.
  const auto rows_of = [](const std::string& csv) {
    std::vector<std::string> rows;
    std::istringstream lines(csv.substr(csv.find("\n1,") + 1));
    for (std::string line; std::getline(lines, line);)
      rows.push_back(line.substr(line.find("yes")));
    return rows;
  };
  EXPECT_EQ(rows_of(folded).size(), 2U) << folded;
  EXPECT_EQ(rows_of(folded), rows_of(parts));
}

// The schedule was as long as the number of samples, so that the rate hardly fell.
// docs/features.md, Optimization: Decay by samples | The position in rows decides.
TEST_F(KnownDefects, TheScheduleIsAsLongAsTheRows) {
  const std::vector<json> steps = steps_of("four");
  ASSERT_EQ(steps.size(), 2U * kStepsOfEpoch);
  EXPECT_DOUBLE_EQ(steps[1]["lr"], 1e-3);  // after one step of warm-up
  EXPECT_DOUBLE_EQ(steps.back()["lr"], 1e-3 / 9);
}

// A rank reduced gradients in each micro-batch, and the rest of an epoch was divided by the wrong
// number.
// docs/features.md, Gradients: One reduction a step | always
TEST_F(KnownDefects, AccumulationReducesTooOftenOrWeighsTheRestWrong) {
  output_of(concat(kBinDir + "/bprun -n 4 ", kTrain, "--batch 6 --run whole"));
  output_of(concat(kTrain, "--batch 24 --run one"));
  const std::vector<json> four = steps_of("four");
  const std::vector<json> whole = steps_of("whole");
  const std::vector<json> one = steps_of("one");
  ASSERT_EQ(one.size(), four.size());
  for (std::size_t step = 0; step < four.size(); ++step) {
    SCOPED_TRACE(step);
    // The first step also broadcasts the parameters.
    if (step > 0) {
      EXPECT_EQ(four[step]["comm"]["operations"], whole[step]["comm"]["operations"]);
    }
    EXPECT_EQ(four[step]["samples"], one[step]["samples"]);
    EXPECT_NEAR(four[step]["loss"], one[step]["loss"].get<double>(), 1e-3);
    EXPECT_NEAR(four[step]["grad_norm"], one[step]["grad_norm"].get<double>(), 1e-2);
  }
}

// Options were parsed and never used.
TEST_F(KnownDefects, AnOptionHasNoEffect) {
  const std::string common = concat(kTrain, "--steps 6 --batch 8 ");
  output_of(concat(common, "--run plain"));
  const std::string model = read(path("plain/model/model.safetensors"));
  int run = 0;
  for (const char* option : {"--dropout 0.3",
                             "--lr 5e-4",
                             "--warmup 0.5",
                             "--weight-decay 0.3",
                             "--epsilon 1e-3",
                             "--clip 0.05",
                             "--seed 2",
                             "--batch 4",
                             "--accumulate 2",
                             "--precision bf16",
                             "--schedule cosine",
                             "--label-smoothing 0.1",
                             "--focal-gamma 2",
                             "--class-weights balanced",
                             "--r-drop 1",
                             "--vat 1",
                             "--steps 7",
                             "--model mini",
                             "--cased --store cased.sqlite",
                             "--max-length 5 --store short5.sqlite",
                             "--vocab-size 60 --store small.sqlite"}) {
    const std::string name = concat("option_", ++run);
    output_of(concat(with(common, option), " --run ", name));
    EXPECT_FALSE(read(path(name + "/model/model.safetensors")) == model) << option;
  }
  output_of(concat(common, "--eval-every 2 --save-every 3 --keep 7 --run reports"));
  const std::vector<json> lines = lines_of("reports/metrics.jsonl");
  EXPECT_EQ(std::ranges::count_if(lines, [](const json& line) { return line.contains("split"); }),
            3);
  EXPECT_TRUE(std::filesystem::exists(path("reports/checkpoints/step-3")));
  EXPECT_TRUE(std::filesystem::exists(path("reports/checkpoints/step-6")));
}

// Only a part of the optimizer's state was saved.
TEST_F(KnownDefects, AResumedRunOnSeveralRanksTrainsAnotherModel) {
  output_of(concat(kBinDir + "/bprun -n 4 ", kTrain,
                   "--batch 3 --accumulate 2 --run again --resume four/checkpoints/step-5"));
  EXPECT_TRUE(read(path("again/model/model.safetensors")) ==
              read(path("four/model/model.safetensors")));
}

// The code for the fiftieth batch, or the tenth word, had never run.
TEST_F(KnownDefects, AReportFailsAfterManySteps) {
  output_of(concat(kTrain, "--batch 1 --run many"));
  const std::vector<json> steps = steps_of("many");
  ASSERT_EQ(steps.size(), 2U * kTrainRows);
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i]["step"], i + 1);
}

// Each rank wrote the same file, with its own part of the test split.
TEST_F(KnownDefects, SeveralRanksWriteThePredictions) {
  std::ifstream file(path("four/predictions.csv"));
  std::string line;
  std::getline(file, line);
  int text = 0;
  for (; std::getline(file, line);) {
    EXPECT_EQ(
        line.substr(line.find(',') + 1, line.find(',', line.find(',') + 1) - line.find(',') - 1),
        std::to_string(++text));
  }
  EXPECT_EQ(text, kTestRows);
}

// 0 micro-batches were taken for 1, and numbers of a YAML file for texts.
TEST_F(KnownDefects, AWrongValueOfAnOptionIsReplacedOrMisread) {
  for (const char* option : {"--accumulate 0", "--batch 0", "--lr two", "--lr 1e-3x",
                             "--precision O1", "--steps 1.5", "--split 0.8,0.1,0.2"}) {
    const Ended ended = in_folder(concat(kTrain, option, " --run wrong"));
    EXPECT_EQ(ended.code, 2) << option << ": " << ended.output;
    EXPECT_FALSE(std::filesystem::exists(path("wrong"))) << option;
  }
  std::ofstream(path("run.yaml")) << "lr: 2e-05\nwarmup: 0\nschedule: constant\nsteps: 3\n";
  output_of(concat(kTrain, "--config run.yaml --run yaml"));
  EXPECT_DOUBLE_EQ(steps_of("yaml").back()["lr"], 2e-5);
  std::filesystem::create_directories(path("home"));
  output_of("cp -r four/model home/model");
  std::ofstream(path("home.yaml")) << "model: ~/model\nvocab: ~/model/vocab.txt\nsteps: 1\n";
  output_of(concat("HOME=$PWD/home ", kTrain.substr(0, kTrain.find("--model")),
                   "--store home.sqlite --config home.yaml --run home_run"));
}

// Rank 0 evaluated alone, for longer than the other ranks waited.
TEST_F(KnownDefects, OnlyRankZeroEvaluates) {
  const std::string timeline = read(path("t/rank-0.json"));
  std::vector<int> largest(4, 0);
  for (std::size_t at = 0; (at = timeline.find("'predictions'", at)) != std::string::npos; ++at) {
    const std::size_t begin = timeline.rfind("all_gather of ", at) + 14;
    std::istringstream counts(timeline.substr(begin, timeline.find(' ', begin) - begin));
    std::size_t rank = 0;
    for (std::string count; std::getline(counts, count, '+'); ++rank) {
      largest.at(rank) = std::max(largest[rank], std::stoi(count));
    }
  }
  EXPECT_THAT(largest, Each(Gt(0)));
}

// A request to stop that came after the last step was never answered.
TEST_F(KnownDefects, ARequestToStopAfterTheEndIsWaitedFor) {
  const Ended ended = in_folder(kBinDir + "/bert_train stop four");
  EXPECT_EQ(ended.code, 66);
  EXPECT_THAT(ended.output, HasSubstr("no run is active in four"));
}

}  // namespace
}  // namespace bp::trainer
