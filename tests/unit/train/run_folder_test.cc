// RUN/ and config.yaml, and what an evaluation takes over from them.
#include "trainer/train/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "comm/base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/train/command_line.h"

namespace bp::trainer {
namespace {

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
  EXPECT_EQ(default_run("sentiment-train"), "runs/sentiment-train");
}

TEST_F(RunFolderTest, RefusesWhatIsThere) {
  const RunFolder folder = RunFolder::create(path("a/run"));
  EXPECT_TRUE(std::filesystem::is_directory(path("a/run")));
  try {
    (void)RunFolder::create(path("a/run"));
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_THAT(error.what(), HasSubstr("a/run is already there"));
    EXPECT_THAT(error.hint(), HasSubstr("--run"));
  }
  folder.remove_if_empty();
  EXPECT_FALSE(std::filesystem::exists(path("a/run")));
}

TEST_F(RunFolderTest, KeepsWhatWasWritten) {
  const RunFolder folder = RunFolder::create(path("run"));
  write("run/metrics.jsonl", "{}");
  folder.remove_if_empty();
  EXPECT_TRUE(std::filesystem::exists(path("run/metrics.jsonl")));
}

TEST_F(RunFolderTest, SettingsComeBackFromYaml) {
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

class Inherited : public RunFolderTest {
 protected:
  void SetUp() override {
    RunFolderTest::SetUp();
    write("data.csv", "text,label\n");
    write("other.csv", "text,label\n");
    write("run/model/config.json", "{}");
    write("run/config.yaml", settings_yaml({{"data", path("data.csv"), ""},
                                            {"text", "review", ""},
                                            {"max-length", "64", ""},
                                            {"seed", "9", ""},
                                            {"vocab", "", ""},
                                            {"store", path("s.sqlite"), ""}}));
  }
};

TEST_F(Inherited, ARunIsScoredOnItsOwnDataAsItWasTrained) {
  const Options o = parse_command_line({"eval", path("run")}).options;
  EXPECT_EQ(o.data, path("data.csv"));
  EXPECT_EQ(o.prepare.text_column, "review");
  EXPECT_EQ(o.prepare.max_length, 64);
  EXPECT_EQ(o.prepare.store, path("s.sqlite"));
  EXPECT_EQ(o.prepare.vocabulary, "");
  EXPECT_EQ(o.seed, 9U);
}

TEST_F(Inherited, OtherDataIsReadAlikeWithTheModelsVocabulary) {
  const Options o = parse_command_line({"eval", path("run"), path("other.csv")}).options;
  EXPECT_EQ(o.prepare.text_column, "review");
  EXPECT_EQ(o.prepare.store, "");
  EXPECT_EQ(o.prepare.vocabulary, path("run/model/vocab.txt"));
  EXPECT_EQ(o.prepare.split[0], 1.0);
  EXPECT_EQ(o.on, "train");
}

TEST_F(Inherited, TheCommandLineWins) {
  const Options o = parse_command_line({"eval", path("run"), "--text", "words"}).options;
  EXPECT_EQ(o.prepare.text_column, "words");
}

TEST_F(Inherited, AModelsFolderBringsItsVocabulary) {
  const Options o = parse_command_line({"eval", path("run/model"), path("other.csv")}).options;
  EXPECT_EQ(o.prepare.vocabulary, path("run/model/vocab.txt"));
  try {
    (void)parse_command_line({"eval", path("run/model")});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("DATA is missing"));
  }
}

TEST_F(Inherited, NoModelIsSaid) {
  try {
    (void)parse_command_line({"eval", path("nothing"), path("data.csv")});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 66);
    EXPECT_THAT(error.what(), HasSubstr("no model in"));
  }
}

}  // namespace
}  // namespace bp::trainer
