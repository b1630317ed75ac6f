// Records the file operations of the real bert_train by a library that is loaded before the C
// library, and reads with the product's readers what a power cut at any moment of preparing,
// training and scoring would leave. unit_durability and unit_model_durability check more states of
// each part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/e2e/shell.h"
#include "tests/support/files/file_record.h"
#include "tests/support/files/power_cut.h"
#include "tests/support/places.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_folder.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::FileRecord;
using test::PowerCut;
using ::testing::IsEmpty;

class Durability : public ::testing::Test {
 protected:
  // The model has few weights, so that hundreds of states can be checked quickly.
  void SetUp() override {
    fs::create_directories(scratch_.path("work"));
    scratch_.write("config.json",
                   R"({"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1,
                       "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 8,
                       "max_position_embeddings": 16})");
    scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\nblue\nstone\n");
    std::ofstream csv(scratch_.path("rows.csv"));
    csv << "text,label\n";
    for (int row = 0; row < 40; ++row) {
      csv << (row % 2 == 0 ? "red stone,yes\n" : "blue stone,no\n");
    }
  }

  [[nodiscard]] std::string work() const { return scratch_.path("work"); }

  // Records the operations of the program in the folder `work` until it ends with 0, followed by a
  // mark.
  FileRecord record_of(const std::string& arguments) {
    const test::FileTree before = test::tree_of(work());
    const std::string record = scratch_.write("record", "");
    const test::Ended ended =
        test::shell(concat("cd ", scratch_.path(), " && env LD_PRELOAD=", kTestsDir,
                           "/libbp_file_recorder.so", " BP_RECORDED_FOLDER=", work(),
                           " BP_FILE_RECORD=", record, " ", kBinDir, "/bert_train ", arguments));
    EXPECT_EQ(ended.code, 0) << ended.output;
    FileRecord done = test::read_file_record(record, before, test::tree_of(work()));
    done.operations.push_back({.kind = test::FileOperationKind::mark, .other = "ended"});
    return done;
  }

  Scratch scratch_;
};

constexpr const char* kTraining =
    "rows.csv --store work/rows.sqlite --vocab vocab.txt --model . --run work/run --epochs 2 "
    "--max-length 16 --batch 8 --save-every 3";

// The file must be absent or complete, and complete if the program had ended.
void expect_none_or_whole(const PowerCut& cut, const std::string& whole, const std::string& name) {
  const std::string path = cut.folder + "/" + name;
  EXPECT_TRUE(fs::exists(path) || cut.marks == 0) << name;
  if (fs::exists(path)) {
    EXPECT_TRUE(read_file(path) == read_file(whole + "/" + name)) << name;
  }
}

// docs/acceptance.md, Disks and power: bert_train survives a power cut at any moment.
TEST_F(Durability, ARunSurvivesAPowerCutAtAnyMoment) {
  const FileRecord record = record_of(kTraining);
  ASSERT_FALSE(HasFailure());
  const auto look = [&](const PowerCut& cut) {
    expect_none_or_whole(cut, work(), "rows.sqlite");
    fs::remove(cut.folder + "/run/lease");
    const RunFolder run = RunFolder::open(cut.folder + "/run", RunFolder::IfExists::reuse);
    const bool finished = run.finished();
    EXPECT_TRUE(finished || cut.marks == 0);
    if (fs::exists(run.file("model"))) {
      for (const char* file : {"config.json", "model.safetensors", "vocab.txt"}) {
        EXPECT_TRUE(read_file(run.file("model/") + file) ==
                    read_file(work() + "/run/model/" + file));
      }
    }
    const CheckpointFolder checkpoints(run.checkpoints());
    const CheckpointFolder::Found found = checkpoints.newest_complete();
    EXPECT_THAT(found.skipped, IsEmpty());
    EXPECT_TRUE(found.step || !fs::exists(run.file("model")))
        << "a model without a complete checkpoint";
    if (found.step) {
      const ResumePoint point = choose_resume_point(run, "auto", [](const std::string&) {});
      EXPECT_EQ(point.state.step, *found.step);
    }
    if (!finished) return;
    EXPECT_EQ(found.step, 8);
    for (const char* file :
         {"run/predictions.csv", "run/classes.csv", "run/confusion.csv", "run/summary.json",
          "run/report.html", "run/config.yaml", "run/metrics.jsonl"}) {
      EXPECT_TRUE(fs::exists(cut.folder + "/" + file)) << file;
      expect_none_or_whole(cut, work(), file);
    }
  };
  EXPECT_GE(test::for_each_power_cut(record, look, test::PowerCutStates::extremes), 100U);

  const FileRecord scoring = record_of("eval work/run --out work/out.csv");
  EXPECT_EQ(test::out_of_order(scoring.lines(),
                               {"write out.csv.part", "sync out.csv.part",
                                "rename out.csv.part -> out.csv", "sync .", "mark ended"}),
            "");
  test::for_each_power_cut(
      scoring, [&](const PowerCut& cut) { expect_none_or_whole(cut, work(), "out.csv"); });
}

}  // namespace
}  // namespace bp::trainer
