// Which data `bert_train eval SOURCE [DATA]` scores, with which model, and how it reads the data.
// docs/acceptance.md, Runs: eval scores any checkpoint, on the run's own data or on a file.
#include "trainer/commands/evaluation_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <variant>

#include "base/text.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_refusal.h"
#include "trainer/commands/command_line.h"
#include "trainer/run/run_settings.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

using test::input_refusal;
using ::testing::HasSubstr;

class EvaluationSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write("data.csv", "text,label\n");
    write("other.csv", "text,label\n");
    write("run/model/config.json", "{}");
    write("run/model/vocab.txt", "");
    write("run/checkpoints/step-8/config.json", "{}");
    write("run/checkpoints/step-8/vocab.txt", "");
    write("run/config.yaml", settings_yaml({{"data", path("data.csv"), ""},
                                            {"text", "review", ""},
                                            {"max-length", "64", ""},
                                            {"seed", "9", ""},
                                            {"vocab", "", ""},
                                            {"store", path("s.sqlite"), ""}}));
    write("model/config.json", "{}");
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    scratch_.write(name, text);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return scratch_.path(name); }
  static EvaluateOptions parsed(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "eval");
    return std::get<EvaluateOptions>(parse_command_line(arguments).options);
  }
  static bool same(const std::string& a, const std::string& b) {
    return std::filesystem::equivalent(a, b);
  }

  Scratch scratch_;
};

TEST_F(EvaluationSourceTest, ARunIsScoredOnItsOwnDataAsItWasSplit) {
  for (const std::vector<std::string>& arguments :
       {std::vector{path("run")}, {path("run"), path("data.csv"), "--on", "test"}}) {
    const EvaluateOptions o = parsed(arguments);
    EXPECT_TRUE(o.plan.own);
    EXPECT_FALSE(o.plan.whole);
    EXPECT_EQ(o.prepare.source, path("data.csv"));
    EXPECT_EQ(o.task->fields()[0].column, "review");
    EXPECT_EQ(o.prepare.max_length, 64);
    EXPECT_EQ(o.prepare.store, path("s.sqlite"));
    EXPECT_FALSE(o.plan.store_is_typed);
    EXPECT_EQ(o.seed, 9U);
  }
}

TEST_F(EvaluationSourceTest, AFileIsScoredWholeAndReadLikeTheRunsData) {
  for (const char* data : {"other.csv", "data.csv"}) {
    const EvaluateOptions o = parsed({path("run"), path(data)});
    EXPECT_TRUE(o.plan.whole);
    EXPECT_FALSE(o.plan.own);
    EXPECT_EQ(o.plan.seen, std::string(data) == "data.csv");
    EXPECT_EQ(o.task->fields()[0].column, "review");
    EXPECT_EQ(o.prepare.max_length, 64);
    EXPECT_EQ(o.prepare.store, "");
    EXPECT_EQ(o.prepare.vocabulary, path("run/model/vocab.txt"));
  }
}

TEST_F(EvaluationSourceTest, LabelsAndFieldsAreReadLikeTheRunsData) {
  TrainOptions trained = std::get<TrainOptions>(
      parse_command_line({"data.csv", "--separator", "semicolon", "--trim-labels", "--round-labels",
                          "--dedupe", "--encoding", "latin-1"})
          .options);
  set(trained.settings, {"data", path("data.csv"), ""});
  for (const char* key : {"lr", "epochs", "steps", "dropout", "eval-every", "save-every"}) {
    set(trained.settings, {key, "", "default"});
  }
  write("run/config.yaml", settings_yaml(trained.settings));
  const EvaluateOptions own = parsed({path("run")});
  EXPECT_EQ(own.prepare.separator, ';');
  EXPECT_EQ(own.prepare.encoding, "iso-8859-1");
  EXPECT_EQ(own.task->fingerprint().size(), 2U);
  EXPECT_TRUE(own.prepare.dedupe);
  const EvaluateOptions other = parsed({path("run"), path("other.csv")});
  EXPECT_EQ(other.prepare.separator, ';');
  EXPECT_EQ(other.prepare.encoding, "iso-8859-1");
  EXPECT_EQ(other.task->fingerprint().size(), 2U);
  EXPECT_FALSE(other.prepare.dedupe) << "all rows of another file must be scored";
}

TEST_F(EvaluationSourceTest, ANewStoreOfTheRunsOwnDataHasTheModelsVocabulary) {
  const EvaluateOptions o = parsed({path("run"), "--store", path("new.sqlite")});
  EXPECT_TRUE(o.plan.own);
  EXPECT_TRUE(o.plan.store_is_typed);
  EXPECT_EQ(o.prepare.store, path("new.sqlite"));
  EXPECT_EQ(o.prepare.vocabulary, path("run/model/vocab.txt"));
}

TEST_F(EvaluationSourceTest, ACheckpointAndAModelBelongToTheirRun) {
  std::filesystem::create_directory_symlink("step-8", path("run/checkpoints/best"));
  for (const char* inside : {"run/model", "run/checkpoints/step-8", "run/checkpoints/best"}) {
    SCOPED_TRACE(inside);
    const EvaluateOptions o = parsed({path(inside), path("other.csv")});
    EXPECT_EQ(o.plan.source.model, path(inside));
    EXPECT_TRUE(same(o.plan.source.run, path("run")));
    EXPECT_TRUE(o.plan.whole);
    EXPECT_EQ(o.prepare.max_length, 64);
    EXPECT_EQ(o.prepare.vocabulary, path(inside) + "/vocab.txt");
    EXPECT_TRUE(parsed({path(inside)}).plan.own);
  }
}

TEST_F(EvaluationSourceTest, AnUnfinishedRunHasTheModelOfItsLastCheckpoint) {
  std::filesystem::remove_all(path("run/model"));
  std::filesystem::create_directory_symlink("step-8", path("run/checkpoints/latest"));
  const EvaluationSource source = find_evaluation_source(path("run"));
  EXPECT_EQ(source.model, path("run/checkpoints/latest"));
  EXPECT_EQ(source.run, path("run"));
}

// docs/features.md, Evaluation and reports: A test of any checkpoint | `eval RUN --checkpoint`
TEST_F(EvaluationSourceTest, ACheckpointOfARunIsScoredOnTheRunsData) {
  std::filesystem::create_directory_symlink("step-8", path("run/checkpoints/best"));
  for (const std::string& name :
       {std::string("best"), std::string("step-8"), path("run/checkpoints/step-8")}) {
    SCOPED_TRACE(name);
    const EvaluateOptions o = parsed({path("run"), "--checkpoint", name});
    EXPECT_TRUE(same(o.plan.source.model, path("run/checkpoints/step-8")));
    EXPECT_EQ(o.plan.source.run, path("run"));
    EXPECT_TRUE(o.plan.own);
    EXPECT_EQ(o.prepare.source, path("data.csv"));
    EXPECT_EQ(o.prepare.vocabulary, o.plan.source.model + "/vocab.txt");
  }
}

TEST_F(EvaluationSourceTest, ACheckpointThatDoesNotExistIsRefusedWithThoseThatDo) {
  std::filesystem::create_directory_symlink("step-8", path("run/checkpoints/best"));
  const auto refusal = [&](const std::string& source, const std::string& name) {
    return input_refusal([&] { (void)parsed({path(source), "--checkpoint", name}); });
  };
  EXPECT_EQ(refusal("run", "bets"), concat("2: --checkpoint: ", path("run"),
                                           " has no checkpoint 'bets' | did you mean 'best'?"));
  EXPECT_EQ(refusal("run", "the one of yesterday"),
            concat("2: --checkpoint: ", path("run"),
                   " has no checkpoint 'the one of yesterday' | it has best and step-8"));
  EXPECT_THAT(refusal("model", "best"), HasSubstr(path("model") + " is not a run's folder"));
  std::filesystem::remove_all(path("run/checkpoints"));
  EXPECT_THAT(refusal("run", "best"), HasSubstr("the run has no checkpoint; leave out"));
}

TEST_F(EvaluationSourceTest, AnyOtherModelBelongsToNoRun) {
  const EvaluateOptions o = parsed({path("model"), path("other.csv")});
  EXPECT_EQ(o.plan.source.run, "");
  EXPECT_TRUE(o.plan.whole);
  EXPECT_THAT(input_refusal([&] { (void)parsed({path("model")}); }),
              HasSubstr("2: DATA is missing, and "));
  // A file of another program beside a folder named model.
  write("config.yaml", "logging: true");
  EXPECT_EQ(parsed({path("model"), path("other.csv")}).plan.source.run, "");
}

TEST_F(EvaluationSourceTest, TheCommandLineTakesPrecedence) {
  EXPECT_EQ(parsed({path("run"), "--text", "words"}).task->fields()[0].column, "words");
  const EvaluateOptions divided = parsed({path("run"), path("other.csv"), "--split", "0.5,0,0.5"});
  EXPECT_FALSE(divided.plan.whole);
  EXPECT_EQ(divided.prepare.split[2], 0.5);
  EXPECT_FALSE(parsed({path("run"), path("s.sqlite"), "--on", "dev"}).plan.whole);
}

TEST_F(EvaluationSourceTest, ASplitOfAFileThatIsScoredWholeIsRefused) {
  EXPECT_EQ(input_refusal([&] {
              (void)parsed({path("run"), path("other.csv"), "--on", "test"});
            }),
            concat("2: --on chooses a split, but all of ", path("other.csv"),
                   " is scored | leave out --on; or leave out DATA to score a split of the run's "
                   "data"));
  EXPECT_THAT(input_refusal([&] {
                (void)parsed({path("nothing"), path("data.csv")});
              }),
              HasSubstr("66: no model in "));
}

}  // namespace
}  // namespace bp::trainer
