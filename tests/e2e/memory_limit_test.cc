// One of four ranks has a control group with too little memory for its batches.
#include "tests/support/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/e2e/shell.h"
#include "tests/support/places.h"
#include "trainer/report/metrics.h"

namespace bp::test {
namespace {

using ::testing::ContainsRegex;
using trainer::Metrics;
using trainer::read_metrics;

class MemoryLimited : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + concat("bp_e2e_memory_", ::getpid());
    std::filesystem::create_directories(folder_ + "/model");
    std::ofstream(path("model/config.json"))
        << R"({"model_type": "bert", "num_hidden_layers": 4, "hidden_size": 256,
               "vocab_size": 1000, "num_attention_heads": 4, "intermediate_size": 1024,
               "type_vocab_size": 2, "max_position_embeddings": 128})";
    std::ofstream csv(path("data.csv"));
    csv << "text,label\n";
    for (int row = 0; row < 800; ++row) {
      for (int word = 0; word < 120; ++word) csv << "word" << (row + word * word) % 50 << ' ';
      csv << row << (row % 3 == 0 ? ",no\n" : ",yes\n");
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // Trains on four ranks, of which rank 1 joins the group, unless its name is empty.
  [[nodiscard]] Ended train(const std::string& run, const std::string& group) const {
    std::ofstream(path("rank.sh"))
        << "[ $RANK != 1 ] || [ -z '" << group << "' ] || echo $$ >'" << group << "'\n"
        << "exec " << kBinDir
        << "/bert_train data.csv --model model --vocab-size 500 --split 1,0,0 "
        << "--max-length 128 --batch 96 --steps 2 --epsilon 1e-6 --run " << run << "\n";
    return shell(
        concat("cd ", folder_, " && OMP_NUM_THREADS=1 ", kBinDir, "/bprun -n 4 sh ./rank.sh"));
  }
  [[nodiscard]] Metrics metrics(const std::string& run) const {
    return read_metrics(path(run + "/metrics.jsonl"));
  }
  // Returns all weights of the run's model, which are fp32.
  [[nodiscard]] std::vector<float> weights(const std::string& run) const {
    std::ifstream file(path(run + "/model/model.safetensors"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof(header));
    const std::size_t begin = sizeof(header) + header;
    std::vector<float> numbers((bytes.size() - begin) / sizeof(float));
    std::memcpy(numbers.data(), bytes.data() + begin, numbers.size() * sizeof(float));
    return numbers;
  }

 private:
  std::string folder_;
};

// docs/acceptance.md, Training: A rank with a limit of 700 MB beside three without one computes its
// batches in pieces, and the weights are the same.
// docs/features.md, Gradients: A micro-batch that fits into memory | always: what does not fit is
// computed in pieces of the same step
TEST_F(MemoryLimited, ARankWithLittleMemoryTakesSmallerPieces) {
  const MemoryLimit group(700);
  if (!group.exists()) GTEST_SKIP() << "this machine permits no new control groups";
  const Ended limited = train("limited", group.members());
  ASSERT_EQ(limited.code, 0) << limited.output;
  EXPECT_THAT(limited.output,
              ContainsRegex("rank 1 on [^ ]* has too little memory for a batch of 96 samples of up "
                            "to [0-9]* tokens at step 1, and computes it in [0-9]+ pieces"));
  const Ended whole = train("whole", "");
  ASSERT_EQ(whole.code, 0) << whole.output;

  const Metrics found = metrics("limited");
  const Metrics expected = metrics("whole");
  ASSERT_EQ(found.steps.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found.steps[i].split_batches, 1);
    EXPECT_EQ(expected.steps[i].split_batches, 0);
    EXPECT_NEAR(found.steps[i].loss, expected.steps[i].loss, 1e-6);
  }
  const std::vector<float> a = weights("limited");
  const std::vector<float> b = weights("whole");
  ASSERT_EQ(a.size(), b.size());
  ASSERT_GT(a.size(), 3'000'000U);
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  EXPECT_LT(std::sqrt(difference / norm), 2e-5);
}

}  // namespace
}  // namespace bp::test
