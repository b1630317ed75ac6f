// A checkpoint is either complete or absent: its manifest, folders and links, and which checkpoints
// are kept.
#include <gmock/gmock.h>

#include <optional>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "checkpoint_fixture.h"
#include "tests/unit/model/refusal.h"
#include "trainer/report/json.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Checkpoint : public test::CheckpointTest {};

std::string refusal(const std::string& manifest) {
  return test::refusal([&] { (void)parse_manifest(manifest); });
}

TEST(Manifest, RoundTrips) {
  const Manifest manifest = {{"state.json", {7, "ab"}}, {"model.safetensors", {1LL << 40, "cd"}}};
  const Manifest again = parse_manifest(to_json(manifest));
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again.at("model.safetensors").size, 1LL << 40);
  EXPECT_EQ(again.at("state.json").hex, "ab");
}

TEST(Manifest, IsReadableText) {
  EXPECT_EQ(to_json(Manifest{{"state.json", {7, "ab"}}}), R"({
  "format": 1,
  "hash": "XXH3-128",
  "files": {
    "state.json": {
      "size": 7,
      "hash": "ab"
    }
  }
}
)");
}

TEST(Manifest, RefusesMalformedText) {
  EXPECT_EQ(refusal(R"({"a": )" + test::kDeep + R"(, "b": 1, "c": 2})"), "it is nested too deeply");
  EXPECT_THAT(refusal("{"), HasSubstr("parse error"));
  EXPECT_THAT(refusal("[]"), HasSubstr("type"));
  EXPECT_THAT(refusal(R"({"format": 2})"), HasSubstr("its format is 2, and this program knows 1"));
  EXPECT_THAT(refusal(R"({"format": 1, "hash": "MD5", "files": {}})"),
              HasSubstr("its hash is not XXH3-128"));
  EXPECT_THAT(refusal(R"({"format": 1, "hash": "XXH3-128", "files": {}})"),
              HasSubstr("it does not name state.json"));
  EXPECT_THAT(refusal(R"({"format": 1, "hash": "XXH3-128",
                          "files": {"../x": {"size": 1, "hash": "a"}}})"),
              HasSubstr("'../x' is not a file of a checkpoint"));
  for (const char* const name : {"", ".x", "a/b"}) {
    EXPECT_THAT(refusal(to_json(Manifest{{"state.json", {}}, {name, {}}})),
                HasSubstr("is not a file of a checkpoint"));
  }
}

// A run that took its checkpoints for absent would start over.
TEST_F(Checkpoint, AFolderThatCannotBeReadIsAnError) {
  const std::string loop = path("loop");
  fs::create_symlink(loop, loop);
  try {
    (void)CheckpointFolder(loop).newest_complete();
    FAIL() << "the folder was taken for absent";
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 66);
    EXPECT_EQ(error.what(), concat("cannot read ", loop, ": Too many levels of symbolic links"));
  }
}

TEST_F(Checkpoint, ExistsWithItsLinksOnceItIsPublished) {
  save(50, {50});
  const std::string folder = checkpoints().of_step(50);
  EXPECT_EQ(damage_of(folder), "");
  EXPECT_THAT(names_in(folder), ElementsAre("manifest.json", "model.safetensors", "state.json"));
  EXPECT_EQ(fs::read_symlink(path("run/checkpoints/latest")), "step-50");
  EXPECT_EQ(fs::read_symlink(path("run/checkpoints/best")), "step-50");
  save(100, {50});
  EXPECT_EQ(fs::read_symlink(path("run/checkpoints/latest")), "step-100");
  EXPECT_EQ(fs::read_symlink(path("run/checkpoints/best")), "step-50");
}

TEST_F(Checkpoint, DamageIsNamed) {
  save(50);
  const std::string folder = checkpoints().of_step(50);
  const std::string weights = folder + "/model.safetensors";
  std::ofstream(weights) << "weights of 51";
  EXPECT_EQ(damage_of(folder), "model.safetensors is not what was written (XXH3 differs)");
  std::ofstream(weights) << "weights";
  EXPECT_EQ(damage_of(folder), "model.safetensors has 7 bytes instead of 13");
  std::ofstream(weights) << "weights of 50 and more";
  EXPECT_EQ(damage_of(folder), "model.safetensors has 22 bytes instead of 13");
  fs::remove(weights);
  EXPECT_EQ(damage_of(folder), "model.safetensors: No such file or directory");
  std::ofstream(folder + "/manifest.json") << "{";
  EXPECT_THAT(damage_of(folder), HasSubstr("manifest.json is damaged: "));
  fs::remove(folder + "/manifest.json");
  EXPECT_EQ(damage_of(folder), "it has no manifest.json");
}

TEST_F(Checkpoint, ForeignFilesDoNoHarm) {
  save(50);
  write("run/checkpoints/step-50/notes.txt", "mine");
  EXPECT_EQ(damage_of(checkpoints().of_step(50)), "");
}

TEST_F(Checkpoint, TheNewestCompleteOneIsFoundAndTheSkippedAreNamed) {
  for (const int step : {50, 100, 1000}) save(step, {}, 9);
  fs::remove(checkpoints().of_step(1000) + "/state.json");
  fs::create_directories(checkpoints().of_step(2000));
  write("run/checkpoints/step-x", "");
  const auto found = checkpoints().newest_complete();
  EXPECT_EQ(found.step, 100);
  EXPECT_THAT(found.skipped, ElementsAre(HasSubstr("step-2000: it has no manifest.json"),
                                         HasSubstr("step-1000: state.json: No such file")));
  EXPECT_EQ(CheckpointFolder(path("nowhere")).newest_complete().step, std::nullopt);
}

// docs/acceptance.md, Training: Checkpoints are saved when due, and the right ones stay.
TEST_F(Checkpoint, MultiplesOfAStepStayForEver) {
  for (std::int64_t step = 5; step <= 40; step += 5) {
    (void)checkpoints().begin(step);
    write(concat("run/checkpoints/.part-step-", step, "/state.json"), "{}");
    checkpoints().publish({step, {25}, {.last = 1, .every = 15}});
  }
  EXPECT_THAT(checkpoints().steps(), ElementsAre(40, 30, 25, 15));
}

TEST_F(Checkpoint, OnlyFoldersNamedAfterAStepCount) {
  for (const char* const name :
       {"step-0", "step-7", "step-7x", "step-", "step--7", "step-+8", "stop-9", "1step-9",
        ".part-step-9", "step-99999999999999999999"}) {
    write(std::string("run/checkpoints/") + name + "/state.json", "");
  }
  EXPECT_THAT(checkpoints().steps(), ElementsAre(7, 0));
}

TEST_F(Checkpoint, AnUnfinishedLinkOfAKilledWriterIsReplaced) {
  save(50);
  fs::create_directory_symlink("step-50", path("run/checkpoints/.latest"));
  save(60);
  EXPECT_EQ(fs::read_symlink(path("run/checkpoints/latest")), "step-60");
}

TEST_F(Checkpoint, AFolderThatCannotBeMadeIsNamedWithTheReason) {
  write("run/checkpoints", "a file");
  try {
    (void)checkpoints().begin(5);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), HasSubstr("cannot change " + path("run/checkpoints") +
                                        ": Not a directory (" + path("run/checkpoints")));
  }
}

// In both cases publish() once threw another exception than an Error, which callers do not expect.
TEST_F(Checkpoint, PublishThrowsAnErrorWhateverIsWrongWithTheFolder) {
  const auto expect_io_error = [&](const std::string& text) {
    try {
      checkpoints().publish({5, {}, {1}});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
    EXPECT_FALSE(fs::exists(checkpoints().of_step(5)));
  };
  save(4);
  const std::string part = path("run/checkpoints/.part-step-5");
  expect_io_error("cannot read " + part + ": No such file or directory");
  fs::create_directories(part + "/inner");
  expect_io_error("cannot read " + part + "/inner: ");
  EXPECT_EQ(damage_of(checkpoints().of_step(4)), "");
}

// docs/features.md, Loop and checkpoints: The checkpoints that stay | `--keep`, `--keep-best`,
// `--keep-every`
TEST_F(Checkpoint, TheLastOnesAndTheBestAreKept) {
  save(10, {10});
  for (const int step : {20, 30, 40}) save(step, {10});
  EXPECT_THAT(checkpoints().steps(), ElementsAre(40, 30, 10));
  save(50, {50});
  EXPECT_THAT(checkpoints().steps(), ElementsAre(50, 40));
  save(60, {50}, 1);
  EXPECT_THAT(checkpoints().steps(), ElementsAre(60, 50));
  EXPECT_THAT(names_in(path("run/checkpoints")),
              ElementsAre("best", "latest", "step-50", "step-60"));
}

TEST_F(Checkpoint, TheBestOnesAreKeptAndTheLinkPointsToTheFirst) {
  save(50, {50});
  save(60, {60, 50});
  save(70, {60, 50}, 1);
  EXPECT_THAT(names_in(path("run/checkpoints")),
              ElementsAre("best", "latest", "step-50", "step-60", "step-70"));
  EXPECT_EQ(fs::read_symlink(path("run/checkpoints/best")), "step-60");
  save(80, {60, 80}, 1);
  EXPECT_THAT(checkpoints().steps(), ElementsAre(80, 60));
  fs::remove_all(checkpoints().of_step(60));
  checkpoints().resume_after(80, std::vector<std::int64_t>{60, 80});
  EXPECT_EQ(fs::read_symlink(path("run/checkpoints/best")), "step-80");
}

TEST_F(Checkpoint, WhatAKilledWriterLeftIsNoCheckpointAndIsRemoved) {
  save(50);
  std::ofstream(checkpoints().begin(100) + "/model.safetensors") << "half";
  EXPECT_EQ(checkpoints().newest_complete().step, 50);
  checkpoints().remove_leftovers();
  EXPECT_THAT(names_in(path("run/checkpoints")), ElementsAre("latest", "step-50"));
}

TEST_F(Checkpoint, ResumingFromAnEarlierOneDropsTheLater) {
  for (const int step : {50, 100, 150}) save(step, {100}, 9);
  checkpoints().resume_after(50, {});
  EXPECT_THAT(checkpoints().steps(), ElementsAre(50));
  EXPECT_EQ(fs::read_symlink(path("run/checkpoints/latest")), "step-50");
  EXPECT_FALSE(fs::exists(path("run/checkpoints/best")));
  EXPECT_TRUE(fs::exists(path("run/checkpoints/.dropped-step-150")))
      << "a dropped checkpoint must exist until a newer one is complete";
  save(75);
  EXPECT_THAT(names_in(path("run/checkpoints")), ElementsAre("latest", "step-50", "step-75"));
}

TEST_F(Checkpoint, ACopyThatFollowedLinksCanBeResumed) {
  save(50, {50});
  fs::copy(path("run"), path("copy"), fs::copy_options::recursive);
  ASSERT_FALSE(fs::is_symlink(path("copy/checkpoints/latest")));
  CheckpointFolder(path("copy/checkpoints")).resume_after(50, std::vector<std::int64_t>{50});
  EXPECT_EQ(fs::read_symlink(path("copy/checkpoints/latest")), "step-50");
  EXPECT_EQ(fs::read_symlink(path("copy/checkpoints/best")), "step-50");
}

TEST_F(Checkpoint, AFailedPublishingLeavesTheOthers) {
  save(50);
  EXPECT_THROW(checkpoints().publish({60, {}, {1}}), std::exception);
  EXPECT_THAT(checkpoints().steps(), ElementsAre(50));
  EXPECT_EQ(damage_of(checkpoints().of_step(50)), "");
}

TEST_F(Checkpoint, AnExistingFolderIsNamedAndNotReplaced) {
  write("run/checkpoints/step-60/notes.txt", "of another program");
  try {
    save(60);
    FAIL() << "the checkpoint has replaced a foreign folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_EQ(error.what(),
              concat("cannot change ", path("run/checkpoints"), ": Directory not empty (",
                     path("run/checkpoints/.part-step-60"), ")"));
  }
  EXPECT_THAT(names_in(path("run/checkpoints/step-60")), ElementsAre("notes.txt"));
}

// Parsing every prefix, and every text with one replaced byte, succeeds or throws an Error.
TEST(CheckpointFiles, SurviveAnyDamage) {
  CheckpointState state;
  state.rows = 100;
  state.best = {{20, {}}, {10, {}}};
  state.options = {{"lr", "0.001", ""}};
  const auto survives = [](const std::string& text) {
    try {
      (void)parse_state(text);
    } catch (const Error&) {
    }
    try {
      (void)parse_manifest(text);
    } catch (const Error&) {
    }
  };
  for (const std::string& text :
       {to_json(state), to_json(Manifest{{"state.json", {7, "ab"}}, {"x", {1, ""}}})}) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      survives(text.substr(0, at));
      for (const char byte : {'"', '{', '[', '9', '-', '\0', '\xff'}) {
        std::string damaged = text;
        damaged[at] = byte;
        survives(damaged);
      }
    }
  }
}

TEST(CheckpointFiles, RequireWholeNumbers) {
  std::string state = to_json(CheckpointState{.step = 7});
  state.replace(state.find("\"step\": 7"), 9, "\"step\": 1e300");
  try {
    (void)parse_state(state);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), std::string("\"step\" is 1e+300, not a whole number from 0 up"));
  }
}

}  // namespace
}  // namespace bp::trainer
