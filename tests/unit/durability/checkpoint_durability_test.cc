// Checkpoints and power cuts: a step-N is complete or absent, and stays once it is published.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "base/text.h"
#include "tests/support/files/file_record.h"
#include "tests/support/files/power_cut.h"
#include "trainer/checkpoint/checkpoint_writer.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/common/whole_file.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_folder.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::FileRecord;
using test::FileRecording;
using test::PowerCut;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::int64_t kBetween = 10;  // steps between two checkpoints

std::string weights_file(const std::string& folder) { return folder + "/model.safetensors"; }

// Writes a checkpoint with the functions that a run uses, and one file that its writer does not
// sync.
void write_small_checkpoint(const std::string& folder, std::int64_t step) {
  const std::array<float, 4> weights{static_cast<float>(step), 2, 3, 4};
  write_safetensors(weights_file(folder), {{"classifier.bias", "F32", {4}, weights.data()}});
  write_whole_file(folder + "/config.json", concat("{\"step\": ", step, "}"));
  const Fd notes(::open((folder + "/notes").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(write_all(notes.get(), "notes", 5), 5U);
}

void save_steps(const std::string& checkpoints, int count, const std::vector<std::int64_t>& best) {
  CheckpointWriter writer(checkpoints, {1}, std::nullopt);
  for (int i = 1; i <= count; ++i) {
    CheckpointState state;
    state.step = i * kBetween;
    state.rows = 100;
    for (const std::int64_t step : best) {
      if (step <= state.step) state.best.push_back({step, {}});
    }
    writer.start(state,
                 [step = state.step](const std::string& to) { write_small_checkpoint(to, step); });
    writer.wait();
    FileRecording::mark(concat("saved ", state.step));
  }
}

// Checks the content of one step, so that files of different steps in one checkpoint would be
// found.
void expect_whole(const std::string& folder, std::int64_t step) {
  EXPECT_EQ(damage_of(folder), "") << folder;
  EXPECT_EQ(parse_state(read_file(folder + "/state.json")).step, step);
  EXPECT_EQ(read_file(folder + "/config.json"), concat("{\"step\": ", step, "}"));
  const SafetensorsReader weights(weights_file(folder));
  std::array<float, 4> values{};
  weights.read(weights.header().entries.at(0), values.data());
  EXPECT_EQ(values[0], static_cast<float>(step));
}

// Checks the target of a link of the checkpoints' folder, if the link exists.
void expect_link_leads_to_a_checkpoint(const std::string& link) {
  if (!fs::is_symlink(link)) return;
  EXPECT_TRUE(fs::exists(link)) << link << " is a dangling link";
  EXPECT_EQ(damage_of(link), "");
}

TEST(CheckpointDurability, EachPartIsOnDiskBeforeTheNameThatRefersToIt) {
  const Scratch scratch;
  FileRecording recording(scratch.path());
  save_steps(scratch.path("checkpoints"), 2, {});
  const std::vector<std::string> lines = recording.stop().lines();
  for (const char* file : {"model.safetensors", "config.json.part", "state.json.part", "notes"}) {
    const std::string path = concat(".part-step-20/", file);
    EXPECT_EQ(test::out_of_order(lines, {"write checkpoints/" + path, "sync checkpoints/" + path,
                                         "write checkpoints/.part-step-20/manifest.json.part"}),
              "");
  }
  EXPECT_EQ(
      test::out_of_order(
          lines, {"mkdir checkpoints", "sync .",
                  "write "
                  "checkpoints/.part-step-20/manifest.json.part",
                  "sync checkpoints/.part-step-20/manifest.json.part",
                  "rename checkpoints/.part-step-20/manifest.json.part -> "
                  "checkpoints/.part-step-20/manifest.json",
                  "sync checkpoints/.part-step-20",
                  "rename checkpoints/.part-step-20 -> checkpoints/step-20", "sync checkpoints",
                  "rename checkpoints/.latest -> checkpoints/latest", "sync checkpoints",
                  "rename checkpoints/step-10 -> checkpoints/.old-step-10"}),
      "");
}

// docs/acceptance.md, Disks and power: A power cut at any moment leaves the last checkpoints
// complete.
// docs/features.md, Loop and checkpoints: Checkpoints that are complete or absent, written by rank
// 0 | always
TEST(CheckpointDurability, PowerCutLeavesTheLastCheckpointsComplete) {
  const Scratch scratch;
  FileRecording recording(scratch.path());
  save_steps(scratch.path("checkpoints"), 3, {10});
  const FileRecord record = recording.stop();
  const std::size_t states = test::for_each_power_cut(record, [](const PowerCut& cut) {
    const std::string path = cut.folder + "/checkpoints";
    const CheckpointFolder folder(path);
    const CheckpointFolder::Found found = folder.newest_complete();
    EXPECT_THAT(found.skipped, IsEmpty());
    const std::int64_t newest = found.step.value_or(0);
    const auto saved = static_cast<std::int64_t>(cut.marks) * kBetween;
    EXPECT_THAT(newest, AnyOf(saved, saved + kBetween));
    for (const std::int64_t step : folder.steps()) expect_whole(folder.of_step(step), step);
    expect_link_leads_to_a_checkpoint(path + "/latest");
    expect_link_leads_to_a_checkpoint(path + "/best");
    if (saved == 0) return;
    EXPECT_TRUE(fs::is_symlink(path + "/latest"));
    EXPECT_THAT(folder.steps(), Contains(10)) << "the best checkpoint must stay";
    folder.resume_after(newest, std::vector<std::int64_t>{10});
    expect_whole(path + "/latest", newest);
    expect_whole(path + "/best", 10);
  });
  EXPECT_GE(states, 100U);
}

// The run drops steps 20 and 30 and resumes from step 10.
TEST(CheckpointDurability, PowerCutInAResumedRunLosesNoNeededCheckpoint) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.path("checkpoints"));
  for (const std::int64_t step : {10, 20, 30}) {
    const std::string part = folder.begin(step);
    CheckpointState state;
    state.step = step;
    state.rows = 100;
    write_whole_file(part + "/state.json", to_json(state));
    write_small_checkpoint(part, step);
    folder.publish({step, {20}, {3}});
  }
  FileRecording recording(scratch.path());
  folder.resume_after(10, {});
  FileRecording::mark("given up");
  const std::size_t states = test::for_each_power_cut(recording.stop(), [](const PowerCut& cut) {
    const std::string path = cut.folder + "/checkpoints";
    const CheckpointFolder left(path);
    for (const std::int64_t step : left.steps()) expect_whole(left.of_step(step), step);
    EXPECT_THAT(left.steps(), Contains(10));
    if (cut.marks == 0) return;
    EXPECT_THAT(left.steps(), ::testing::ElementsAre(10));
    expect_whole(path + "/latest", 10);
    EXPECT_FALSE(fs::is_symlink(path + "/best"));
  });
  EXPECT_GE(states, 8U);
}

// A run from its folder to its report, as train_command.cc makes one.
void run(const std::string& path) {
  const RunFolder folder = RunFolder::open(path, RunFolder::IfExists::reuse);
  folder.remove_results({});
  write_whole_file(folder.file("config.yaml"), "epochs: 1\n");
  save_steps(folder.checkpoints(), 2, {});
  write_whole_file(folder.file("predictions.csv"), "sample_id\n1\n");
  write_whole_file(folder.file("summary.json"), "{\"steps\": 20}\n");
  write_whole_file(folder.file("report.html"), "<html></html>\n");
  FileRecording::mark("reported");
}

// After a reboot this process no longer holds the lease. LeaseDurability shows that another takes
// it over.
FileRecord without_lease(FileRecord record) {
  std::erase_if(record.operations, [](const test::FileOperation& operation) {
    return operation.path.ends_with("mine/lease");
  });
  record.before.erase("mine/lease");
  return record;
}

// After a power cut the same command must resume the run or find it finished.
// docs/acceptance.md, Disks and power: A power cut at any moment leaves a run that can be resumed,
// or a finished one.
TEST(RunDurability, PowerCutLeavesAResumableOrAFinishedRun) {
  const Scratch scratch;
  FileRecording recording(scratch.path());
  run(scratch.path("runs/mine"));
  const FileRecord record = without_lease(recording.stop());
  const std::size_t states = test::for_each_power_cut(record, [](const PowerCut& cut) {
    const RunFolder folder = RunFolder::open(cut.folder + "/runs/mine", RunFolder::IfExists::reuse);
    std::vector<std::string> messages;
    const auto saved = static_cast<std::int64_t>(std::min<std::size_t>(cut.marks, 2)) * kBetween;
    const ResumePoint point = choose_resume_point(
        folder, "auto", [&](const std::string& text) { messages.push_back(text); });
    EXPECT_THAT(messages, IsEmpty());
    EXPECT_GE(point.state.step, saved);
    if (saved > 0) expect_whole(point.folder, point.state.step);
    EXPECT_TRUE(folder.finished() || cut.marks < 3);
    if (!folder.finished()) return;
    EXPECT_EQ(read_file(folder.file("report.html")), "<html></html>\n");
    EXPECT_EQ(read_file(folder.file("summary.json")), "{\"steps\": 20}\n");
    EXPECT_EQ(read_file(folder.file("predictions.csv")), "sample_id\n1\n");
  });
  EXPECT_GE(states, 100U);
}

// If a finished run continues with more epochs, its report must be removed before the results that
// it describes.
TEST(RunDurability, PowerCutNeverLeavesAReportWithoutItsResults) {
  const Scratch scratch;
  run(scratch.path("mine"));
  FileRecording recording(scratch.path());
  {
    const RunFolder folder = RunFolder::open(scratch.path("mine"), RunFolder::IfExists::reuse);
    folder.remove_results({});
    FileRecording::mark("removed");
  }
  const std::size_t states =
      test::for_each_power_cut(without_lease(recording.stop()), [](const PowerCut& cut) {
        const std::string path = cut.folder + "/mine/";
        if (!fs::exists(path + "report.html")) return;
        EXPECT_EQ(cut.marks, 0U);
        EXPECT_EQ(read_file(path + "summary.json"), "{\"steps\": 20}\n");
        EXPECT_EQ(read_file(path + "predictions.csv"), "sample_id\n1\n");
      });
  EXPECT_GE(states, 8U);
}

}  // namespace
}  // namespace bp::trainer
