// A saved model and power cuts: the model is complete or absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/files/file_record.h"
#include "tests/support/files/power_cut.h"
#include "tests/unit/model/golden.h"
#include "trainer/model/files/tokenizer_config.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::FileRecord;
using test::FileRecording;
using test::PowerCut;

const char* const kFiles[] = {"config.json", "model.safetensors", "tokenizer_config.json",
                              "vocab.txt"};

class SavedModelDurability : public testing::Test {
 protected:
  void save_old(const std::string& folder) const {
    save_model(Bert(golden_config(0.1), make_classifier_head, Precision::fp32, 5),
               tokenizer_files({{"[PAD]", "a"}}, {false, 11}), folder);
  }
  void save_new(const std::string& folder) const {
    save_model(Bert(golden_config(0.2), make_classifier_head, Precision::fp32, 6),
               tokenizer_files({{"[PAD]", "b"}}, {true, 12}), folder);
  }
  static std::vector<std::string> contents(const std::string& folder) {
    std::vector<std::string> contents;
    for (const char* file : kFiles) contents.push_back(read_file(folder + "/" + file));
    return contents;
  }
  // Reads the model as eval and --model do.
  static void expect_readable(const std::string& folder) {
    Bert model(read_config(folder + "/config.json"), make_classifier_head, Precision::fp32, 7);
    EXPECT_TRUE(load_weights(model, folder + "/model.safetensors").complete());
  }
};

TEST_F(SavedModelDurability, EveryFileIsOnDiskBeforeTheModelHasItsName) {
  const Scratch scratch;
  FileRecording recording(scratch.path());
  save_new(scratch.path("model"));
  std::vector<std::string> lines = recording.stop().lines();
  const std::string part = fs::path(lines.front().substr(6)).string();  // the path after "mkdir "
  EXPECT_EQ(
      test::out_of_order(
          lines, {"write " + part + "/model.safetensors", "sync " + part + "/model.safetensors",
                  "write " + part + "/vocab.txt.part", "sync " + part + "/vocab.txt.part",
                  "rename " + part + "/vocab.txt.part -> " + part + "/vocab.txt", "sync " + part,
                  "rename " + part + " -> model", "sync ."}),
      "");
}

// docs/acceptance.md, Disks and power: A power cut at any moment leaves a complete model or none.
TEST_F(SavedModelDurability, PowerCutLeavesNoModelOrACompleteOne) {
  const Scratch scratch;
  FileRecording recording(scratch.path());
  save_new(scratch.path("model"));
  FileRecording::mark("saved");
  const FileRecord record = recording.stop();
  const auto whole = contents(scratch.path("model"));
  const std::size_t states = test::for_each_power_cut(record, [&](const PowerCut& cut) {
    EXPECT_TRUE(fs::exists(cut.folder + "/model") || cut.marks == 0);
    if (!fs::exists(cut.folder + "/model")) return;
    EXPECT_TRUE(contents(cut.folder + "/model") == whole);
    expect_readable(cut.folder + "/model");
  });
  EXPECT_GE(states, 20U);
}

TEST_F(SavedModelDurability, PowerCutDuringAReplacementLeavesOneOfTheTwo) {
  const Scratch scratch;
  save_old(scratch.path("model"));
  const auto before = contents(scratch.path("model"));
  FileRecording recording(scratch.path());
  save_new(scratch.path("model"));
  FileRecording::mark("saved");
  const FileRecord record = recording.stop();
  const auto after = contents(scratch.path("model"));
  ASSERT_NE(before, after);
  const std::size_t states = test::for_each_power_cut(record, [&](const PowerCut& cut) {
    ASSERT_TRUE(fs::exists(cut.folder + "/model"));
    const auto there = contents(cut.folder + "/model");
    EXPECT_TRUE(there == after || (cut.marks == 0 && there == before));
    expect_readable(cut.folder + "/model");
  });
  EXPECT_GE(states, 20U);
}

TEST_F(SavedModelDurability, ModelIsReplacedEvenIfNamesCannotBeExchanged) {
  const Scratch scratch;
  save_new(scratch.path("model"));
  const auto wanted = contents(scratch.path("model"));
  save_old(scratch.path("model"));
  ASSERT_NE(contents(scratch.path("model")), wanted);
  bp_refuse_exchanges(true);
  FileRecording recording(scratch.path());
  save_new(scratch.path("model"));
  FileRecording::mark("saved");
  const FileRecord record = recording.stop();
  bp_refuse_exchanges(false);
  EXPECT_THAT(scratch.names(), ::testing::ElementsAre("model"));
  EXPECT_EQ(contents(scratch.path("model")), wanted);
  test::for_each_power_cut(record, [&](const PowerCut& cut) {
    EXPECT_TRUE(fs::exists(cut.folder + "/model") || cut.marks == 0);
    if (!fs::exists(cut.folder + "/model")) return;
    EXPECT_TRUE(contents(cut.folder + "/model") == wanted || cut.marks == 0);
    expect_readable(cut.folder + "/model");
  });
}

}  // namespace
}  // namespace bp::trainer
