// The run's folder and its config.yaml.
#include "trainer/run/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "tests/support/as_nobody.h"
#include "tests/unit/data/input_refusal.h"
#include "trainer/run/run_settings.h"

namespace bp::trainer {
namespace {

using test::input_refusal;
using ::testing::HasSubstr;

class RunFolderTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }

 private:
  std::string folder_ = ::testing::TempDir() + concat("bp_run_folder_", ::getpid());
};

TEST_F(RunFolderTest, IsNamedAfterTheData) {
  EXPECT_EQ(default_run("examples/reviews.csv"), "runs/reviews");
  EXPECT_EQ(default_run("reviews.csv.gz"), "runs/reviews");
  EXPECT_EQ(default_run("sentiment-train"), "runs/sentiment-train");
}

using IfExists = RunFolder::IfExists;

TEST_F(RunFolderTest, IsCreatedAndRemovedIfNothingWasWritten) {
  RunFolder folder = RunFolder::open(path("a/run"), IfExists::refuse);
  EXPECT_TRUE(std::filesystem::is_directory(path("a/run")));
  folder.remove_if_empty();
  EXPECT_FALSE(std::filesystem::exists(path("a")));
}

TEST_F(RunFolderTest, ParentsThatWereThereOrAreInUseStay) {
  write("a/other", "");
  std::filesystem::create_directory(path("b"));
  for (const char* const name : {"a/run", "b/run", "b/c/run"}) {
    RunFolder folder = RunFolder::open(path(name), IfExists::refuse);
    if (name == std::string("b/c/run")) write("b/c/other", "");
    folder.remove_if_empty();
    EXPECT_FALSE(std::filesystem::exists(path(name)));
  }
  EXPECT_TRUE(std::filesystem::exists(path("a/other")));
  EXPECT_TRUE(std::filesystem::exists(path("b/c/other")));
}

TEST_F(RunFolderTest, RefusesToStartOverInAnExistingRun) {
  write("run/config.yaml", "");
  EXPECT_EQ(input_refusal([&] { (void)RunFolder::open(path("run"), IfExists::refuse); }),
            concat("2: the run's folder ", path("run"),
                   " already exists | choose another with --run, or leave out --resume to resume "
                   "it"));
  (void)RunFolder::open(path("run"), IfExists::reuse);
}

TEST_F(RunFolderTest, RefusesAFolderThatIsNoRuns) {
  write("mine/letter.txt", "");
  const std::string expected = concat("2: ", path("mine"),
                                      " already exists and is not a run's folder | choose another "
                                      "with --run");
  EXPECT_EQ(input_refusal([&] { (void)RunFolder::open(path("mine"), IfExists::reuse); }), expected);
  EXPECT_EQ(input_refusal([&] { (void)RunFolder::open(path("mine"), IfExists::refuse); }),
            expected);
  // The folder of a run that was killed before it began is a run's.
  write("early/lease", "a\nb\n1\n0\nh\n\n");
  EXPECT_EQ(
      input_refusal([&] { (void)RunFolder::open(path("early"), IfExists::refuse); }).substr(0, 2),
      "2:");
}

TEST_F(RunFolderTest, TwoRunsInOneFolderAreRefused) {
  constexpr LeaseTimes kTimes{.renewal = std::chrono::milliseconds(50),
                              .expiry = std::chrono::milliseconds(400)};
  const RunFolder first = RunFolder::open(path("run"), IfExists::reuse, kTimes);
  const std::string refused =
      input_refusal([&] { (void)RunFolder::open(path("run"), IfExists::reuse, kTimes); });
  EXPECT_THAT(refused, HasSubstr(concat("2: process ", ::getpid(), " on host ")));
  EXPECT_THAT(refused,
              HasSubstr(concat(" is using ", path("run"),
                               " | choose another folder with --run, or end it: bert_train "
                               "stop ",
                               path("run"))));
  first.require_lease();
}

TEST_F(RunFolderTest, AProcessThatLostItWritesNoMore) {
  const RunFolder folder = RunFolder::open(path("run"), IfExists::reuse);
  write("run/lease", "other\n");
  try {
    folder.require_lease();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another process has taken over " + path("run")));
  }
}

TEST_F(RunFolderTest, StoppingNeedsARunningRun) {
  EXPECT_EQ(input_refusal([&] { ask_to_stop(path("none")); }),
            concat("66: ", path("none"), " is not a run's folder | bert_train stop RUN"));
  write("run/config.yaml", "");
  EXPECT_THAT(input_refusal([&] { ask_to_stop(path("run")); }),
              HasSubstr(concat("66: no run is active in ", path("run"))));
  const RunFolder running = RunFolder::open(path("run"), IfExists::reuse);
  ask_to_stop(path("run"));
  EXPECT_TRUE(std::filesystem::exists(stop_file(path("run"))));
}

TEST_F(RunFolderTest, StoppingInAReadOnlyFolderSaysWhetherARunIsActive) {
  write("run/config.yaml", "");
  for (const char* name : {"", "run/config.yaml"}) {  // whatever the umask
    std::filesystem::permissions(path(name), std::filesystem::perms(0755));
  }
  std::filesystem::permissions(path("run"), std::filesystem::perms(0555));
  const std::string refused = concat("66: no run is active in ", path("run"));
  as_nobody(
      [&] { EXPECT_THAT(input_refusal([&] { ask_to_stop(path("run")); }), HasSubstr(refused)); });
  std::filesystem::permissions(path("run"), std::filesystem::perms(0755));
  const RunFolder running = RunFolder::open(path("run"), IfExists::reuse);
  std::filesystem::permissions(path("run"), std::filesystem::perms(0555));
  as_nobody([&] {
    EXPECT_EQ(input_refusal([&] { ask_to_stop(path("run")); }),
              concat("2: cannot ask the run in ", path("run"), " to stop: cannot create ",
                     stop_file(path("run")), ".part: Permission denied | only who may write there ",
                     "can stop it; ls -ld ", path("run"), " shows who may"));
  });
  std::filesystem::permissions(path("run"), std::filesystem::perms(0755));
}

TEST_F(RunFolderTest, NamesThatAreTooLongAreErrorsWithAHint) {
  const std::string name = path(std::string(256, 'n'));
  EXPECT_EQ(input_refusal([&] { ask_to_stop(name); }),
            concat("66: cannot read ", name, ": File name too long | choose a shorter name"));
  EXPECT_EQ(input_refusal([&] { (void)model_folder(name); }),
            concat("66: cannot read ", name,
                   "/model/config.json: File name too long | choose a shorter name"));
}

TEST_F(RunFolderTest, ResumingRemovesResultsAndUnfinishedFiles) {
  for (const char* name :
       {"config.yaml", "metrics.jsonl", "summary.json", "report.html", "predictions.csv",
        "classes.csv", "confusion.csv", "stop", "report.html.part", "model.part-7/x",
        "model.old-7/x", "model/config.json"}) {
    write(concat("run/", name), "");
  }
  const RunFolder folder = RunFolder::open(path("run"), IfExists::reuse);
  EXPECT_TRUE(folder.finished());
  folder.remove_results({"classes.csv", "confusion.csv"});
  EXPECT_FALSE(folder.finished());
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(path("run"))) {
    left.insert(entry.path().filename().string());
  }
  EXPECT_THAT(left, ::testing::ElementsAre("config.yaml", "lease", "metrics.jsonl", "model"));
}

TEST_F(RunFolderTest, KeepsWhatWasWritten) {
  RunFolder folder = RunFolder::open(path("run"), IfExists::reuse);
  write("run/metrics.jsonl", "{}");
  folder.remove_if_empty();
  EXPECT_TRUE(std::filesystem::exists(path("run/metrics.jsonl")));
}

// docs/features.md, Use: Options saved with the run | `config.yaml`
TEST_F(RunFolderTest, SettingsRoundTripThroughYaml) {
  const std::vector<Setting> settings = {{"text", "a: \"b\" # c", "command line"},
                                         {"lr", "0.001", "default for this model"},
                                         {"vocab", "", "default"},
                                         {"seed", "18446744073709551615", "default"}};
  const std::string yaml = settings_yaml(settings);
  EXPECT_THAT(yaml, HasSubstr("# default for this model"));
  write("config.yaml", yaml);
  const auto again = read_settings(path("config.yaml"));
  ASSERT_EQ(again.size(), settings.size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].key, settings[i].key);
    EXPECT_EQ(again[i].value, settings[i].value);
  }
}

// docs/acceptance.md, Runs: A path that cannot be written is reported before the work.
TEST_F(RunFolderTest, AFolderThatCannotBeCreatedGetsAHintForAnother) {
  write("file", "");
  EXPECT_EQ(
      input_refusal([&] { (void)RunFolder::open(path("file/run"), RunFolder::IfExists::reuse); }),
      concat("70: cannot create the run's folder ", path("file/run"),
             ": Not a directory | name a place where you may write: --run run"));
}

TEST_F(RunFolderTest, BrokenYamlIsNamed) {
  write("config.yaml", "a: [");
  try {
    (void)read_settings(path("config.yaml"));
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 65);
    EXPECT_THAT(error.what(), HasSubstr("config.yaml"));
  }
}

}  // namespace
}  // namespace bp::trainer
