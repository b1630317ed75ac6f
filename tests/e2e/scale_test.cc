// What a run needs and how it scales, measured through the programs that users run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class Scale : public test::FolderTest<> {
 protected:
  void SetUp() override {
    std::ofstream file(path("stones.csv"));
    file << "text,label\n";
    for (int row = 0; row < 200; ++row) {
      file << "the stone " << row % 7 << (row % 3 == 0 ? " is red " : " looks blue ")
           << (row % 4 == 0 ? ",warm\n" : ",cold\n");
    }
  }
  Ended bert_train(const std::string& words) {
    return in_folder(concat("OMP_NUM_THREADS=1 ", kBinDir, "/bert_train ", words));
  }
};

// docs/features.md, Evaluation and reports: Parameters by size | `estimate`; `--parameter-table` of
// `estimate` and `report`; `summary.json`
TEST_F(Scale, EstimateMeasuresAFewStepsAndKeepsNothing) {
  const Ended ended = bert_train(
      "estimate stones.csv --max-length 16 --batch 16 --epochs 3 --freeze embeddings "
      "--measured-steps 4 --out e.json");
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("10 steps an epoch: "));
  EXPECT_THAT(ended.output, HasSubstr("; 30 steps the run: "));
  const auto json = nlohmann::json::parse(read(path("e.json")));
  // 160 rows to train on; a tiny BERT's two layers have 198,272 parameters each.
  EXPECT_EQ(json["step"]["samples"], 16);
  EXPECT_EQ(json["step"]["measured"], 4);
  EXPECT_GT(json["step"]["seconds"], 0);
  EXPECT_EQ(json["parts"][0]["part"], "layers 0-1");
  EXPECT_EQ(json["parts"][0]["parameters"], 2 * 198272);
  EXPECT_EQ(json["memory"]["weights"], 4 * json["parameters"].get<std::int64_t>());
  EXPECT_EQ(json["memory"]["optimizer"], 8 * json["trained"].get<std::int64_t>());
  EXPECT_LT(json["trained"], json["parameters"]);
  EXPECT_GT(json["memory"]["peak"], 50'000'000);
  EXPECT_FALSE(std::filesystem::exists(path("runs"))) << "an estimate is not a run";
}

// docs/features.md, Gradients: What each kind of sharding costs | `estimate`
TEST_F(Scale, EstimateSaysWhatEachShardCosts) {
  const Ended ended = in_folder(
      concat("OMP_NUM_THREADS=1 ", kBinDir, "/bprun -n 2 ", kBinDir,
             "/bert_train estimate stones.csv --max-length 16 --measured-steps 1 --freeze "
             "0 --out e.json"));
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("this job takes --shard optimizer"));
  const auto json = nlohmann::json::parse(read(path("e.json")));
  EXPECT_EQ(json["shard"], "optimizer");
  const auto bytes = [&](const char* what) { return 4 * json[what].get<std::int64_t>(); };
  const auto of = [&](std::size_t shard, const char* what) {
    return json["shards"][shard][what].get<std::int64_t>();
  };
  ASSERT_EQ(json["shards"].size(), 5);
  EXPECT_EQ(json["shards"][0]["shard"], "none");
  EXPECT_EQ(of(0, "weights"), 2 * bytes("parameters"));
  EXPECT_EQ(of(0, "moments"), 2 * 2 * bytes("trained"));
  EXPECT_EQ(of(2, "weights"), bytes("parameters"));
  EXPECT_EQ(of(2, "moments"), 2 * bytes("trained"));
  EXPECT_EQ(of(2, "gradients"), of(0, "gradients"));
  EXPECT_LT(of(2, "gradients"), 2 * bytes("trained")) << "the words have sparse gradients";
  EXPECT_EQ(json["shards"][3]["shard"], "gradients");
  EXPECT_EQ(of(3, "gradients"), 0);
  EXPECT_EQ(json["memory"]["optimizer"], bytes("trained"));
}

// Two ranks on the first host and one on the second: the first one needs the most.
TEST_F(Scale, EstimateSaysWhatEachShardCostsOnTwoHosts) {
  const Ended ended = in_folder(
      concat("OMP_NUM_THREADS=1 ", kBinDir, "/bprun -H localhost:2,127.0.0.1:1 ", kBinDir,
             "/bert_train estimate stones.csv --max-length 16 --measured-steps 1 --out e.json"));
  ASSERT_EQ(ended.code, 0) << ended.output;
  const auto json = nlohmann::json::parse(read(path("e.json")));
  const double all = 4 * json["parameters"].get<double>();
  EXPECT_EQ(json["trained"], json["parameters"]);
  const double dense = json["shards"][0]["gradients"].get<double>() / 2;
  const double rows = all - dense;  // of word embeddings, whose gradients are sparse
  EXPECT_GT(rows, 0);
  // The ranks of each host, and of all hosts, divide equal parts of what they can divide.
  const double part = 2.0 / 3;
  const double moments = 2 * (part * dense + rows);
  const double layers = 4 * 2 * 198272;  // a tiny BERT's
  const std::vector<std::vector<double>> expected = {
      // weights, gradients, moments, peak, sent
      {2 * all, 2 * dense, 4 * all, 6 * all + 2 * dense, dense},
      {all, 2 * dense, 2 * all, 3 * all + 2 * dense, dense},
      {all, 2 * dense, moments, all + moments + 2 * dense, dense},
      {all, 0, moments, all + moments + part * dense, dense},
      // Both layers are whole in a step, and the first one travels to the backward pass, too.
      {all - layers / 3, 0, moments, all + moments + part * dense, dense + part * layers / 2}};
  ASSERT_EQ(json["shards"].size(), expected.size());
  for (std::size_t shard = 0; shard < expected.size(); ++shard) {
    std::vector<double> found;
    for (const char* what : {"weights", "gradients", "moments", "peak", "sent"}) {
      found.push_back(json["shards"][shard][what].get<double>());
    }
    EXPECT_THAT(found, testing::Pointwise(testing::DoubleNear(4), expected[shard])) << shard;
  }
}

// docs/features.md, Evaluation and reports: A table of speed by number of ranks | `scale --worlds
// 1,2,3+1`
TEST_F(Scale, RunsEachWorldAndComparesThem) {
  const Ended ended = bert_train(
      "scale stones.csv --max-length 16 --batch 8 --worlds 1,1+1 --measured-steps 4 --out s");
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("measuring localhost:1,127.0.0.1:1"));
  EXPECT_THAT(ended.output, HasSubstr("speed-up  expansion  communication"));
  EXPECT_THAT(read(path("s/scaling.csv")),
              MatchesRegex("world,ranks,[^\n]*\n1,1,8,[^\n]*,1,1,[^\n]*\n1\\+1,2,16,[^\n]*\n"));
  EXPECT_THAT(read(path("s/scaling.html")), HasSubstr("<svg"));
  EXPECT_FALSE(std::filesystem::exists(path("runs")));
}

TEST_F(Scale, AWorldThatFailsIsNamedWithItsLastLines) {
  const Ended ended = bert_train("scale stones.csv --label colour --worlds 2");
  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("colour"));
  EXPECT_THAT(ended.output, HasSubstr("the world 2 failed; its last lines are above"));
  const Ended inside =
      in_folder(kBinDir + "/bprun -n 1 " + kBinDir + "/bert_train scale stones.csv");
  EXPECT_EQ(inside.code, 2) << inside.output;
  EXPECT_THAT(inside.output, HasSubstr("start it alone"));
}

}  // namespace
}  // namespace bp::trainer
