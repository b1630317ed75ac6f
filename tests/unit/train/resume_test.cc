// Which checkpoint a run resumes from, and which settings may have changed since.
#include "trainer/run/resume.h"

#include <gmock/gmock.h>

#include "checkpoint_fixture.h"
#include "tests/unit/data/input_refusal.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::input_refusal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ResumeTest : public test::CheckpointTest {
 protected:
  ResumePoint choose(const std::string& resume) {
    messages_.clear();
    const RunFolder run = RunFolder::open(path("run"), RunFolder::IfExists::reuse);
    return choose_resume_point(run, resume, [this](const std::string& text) { messages_ += text; });
  }
  void begin_run() { write("run/config.yaml", "seed: 1\n"); }

  std::string messages_;
};

TEST_F(ResumeTest, WithoutCheckpointsARunBegins) {
  EXPECT_EQ(choose("auto").folder, "");
  begin_run();
  EXPECT_EQ(choose("auto").folder, "");
}

TEST_F(ResumeTest, AutoTakesTheNewestCompleteOneAndNamesTheSkipped) {
  begin_run();
  for (const int step : {50, 100}) save(step);
  fs::remove(path("run/checkpoints/step-100/model.safetensors"));
  const ResumePoint point = choose("auto");
  EXPECT_EQ(point.folder, path("run/checkpoints/step-50"));
  EXPECT_TRUE(point.own);
  EXPECT_EQ(point.state.step, 50);
  EXPECT_EQ(messages_, concat("skipped ", path("run/checkpoints/step-100"),
                              ": model.safetensors: No such file or directory"));
}

TEST_F(ResumeTest, WithoutACompleteOneTheRunDoesNotSilentlyStartOver) {
  begin_run();
  save(50);
  fs::remove(path("run/checkpoints/step-50/manifest.json"));
  EXPECT_EQ(input_refusal([&] { (void)choose("auto"); }),
            concat("65: no checkpoint in ", path("run/checkpoints"),
                   " is complete | start over in another folder with --run"));
}

TEST_F(ResumeTest, AResultWithoutCheckpointsIsNotOverwritten) {
  begin_run();
  write("run/model/config.json", "{}");
  EXPECT_EQ(input_refusal([&] { (void)choose("auto"); }),
            concat("2: the run's folder ", path("run"),
                   " already holds a result | choose another with --run, or remove it"));
}

// docs/features.md, Loop and checkpoints: Resuming from a file, with resets and other options |
// `--resume PATH`, `--reset-schedule`, `--reset-optimizer`, `--reset-data`, `--reset-meters`
TEST_F(ResumeTest, APathIsACheckpointOrARun) {
  begin_run();
  for (const int step : {50, 100}) save(step);
  EXPECT_EQ(choose(path("run/checkpoints/step-50")).state.step, 50);
  EXPECT_EQ(choose(path("run/checkpoints/latest")).state.step, 100);
  EXPECT_EQ(choose(path("run")).state.step, 100);
  EXPECT_TRUE(choose(path("run/checkpoints/step-50")).own);
  EXPECT_EQ(input_refusal([&] { (void)choose(path("none")); }),
            concat("66: --resume: ", path("none"),
                   " does not exist | auto, never, a checkpoint's folder or a run's"));
  fs::remove(path("run/checkpoints/step-50/state.json"));
  EXPECT_EQ(
      input_refusal([&] { (void)choose(path("run/checkpoints/step-50")); }),
      concat("65: --resume: ", path("run/checkpoints/step-50"),
             " is not a complete checkpoint: state.json: No such file or directory | --resume "
             "auto takes the newest complete one of the run"));
}

TEST_F(ResumeTest, AnotherRunsCheckpointBeginsANewRunOnly) {
  save(50);
  fs::rename(path("run"), path("other"));
  const ResumePoint point = choose(path("other/checkpoints/step-50"));
  EXPECT_EQ(point.state.step, 50);
  EXPECT_FALSE(point.own);
  begin_run();
  EXPECT_EQ(choose(path("other")).state.step, 50)
      << "a run without a checkpoint may begin from another run's";
  save(10);
  EXPECT_EQ(input_refusal([&] { (void)choose(path("other")); }),
            concat("2: the run's folder ", path("run"), " already exists, and ", path("other"),
                   " is not its own checkpoint | choose another folder with --run"));
}

TEST_F(ResumeTest, ADamagedStateIsNamed) {
  begin_run();
  const std::string part = checkpoints().begin(50);
  std::ofstream(part + "/state.json") << "{}";
  checkpoints().publish({50, {}, {1}});
  EXPECT_THAT(input_refusal([&] { (void)choose("auto"); }), HasSubstr("65: "));
  EXPECT_THAT(input_refusal([&] { (void)choose("auto"); }), HasSubstr("step-50/state.json: "));
}

class Differences : public ResumeTest {
 protected:
  void SetUp() override {
    ResumeTest::SetUp();
    current_.options = {{"seed", "1", ""}, {"batch", "32", ""}, {"lr", "0.001", ""}};
    current_.seed = 1;
    current_.optimizer = "adamw";
    current_.store = "identity";
    current_.rows = 100;
    current_.summation = {{"ranks of each host", "3,1"}};
    write("step-50/config.json", config_json(current_.config));
    point_.folder = path("step-50");
    point_.state.options = current_.options;
    point_.state.store = current_.store;
    point_.state.rows = 100;
    point_.state.summation = current_.summation;
  }
  CurrentRun current_;
  ResumePoint point_;
};

TEST_F(Differences, WithoutOnesTheListIsEmpty) {
  EXPECT_THAT(differences(point_, current_), IsEmpty());
}

TEST_F(Differences, ThatAreAllowedAreListed) {
  current_.options = {{"seed", "1", ""},
                      {"epochs", "5", "", OnResume::told},
                      {"batch", "16", "", OnResume::told},
                      {"lr", "0.001", "", OnResume::told},
                      {"run", "elsewhere", ""}};
  point_.state.options.insert(point_.state.options.end(),
                              {{"epochs", "", ""}, {"run", "here", ""}});
  current_.summation = {{"ranks of each host", "2"}};
  EXPECT_THAT(differences(point_, current_),
              ElementsAre("epochs is not given in the checkpoint, 5 here",
                          "batch is 32 in the checkpoint, 16 here",
                          "ranks of each host is 3,1 in the checkpoint, 2 here"));
}

TEST_F(Differences, OfTheTasksOptionsAreListed) {
  current_.options.insert(current_.options.end(), {{"schedule", "cosine", "", OnResume::told},
                                                   {"r-drop", "0.5", "", OnResume::told},
                                                   {"label-smoothing", "0.1", "", OnResume::told},
                                                   {"newer", "1", "", OnResume::told}});
  point_.state.options.insert(
      point_.state.options.end(),
      {{"schedule", "linear", ""}, {"r-drop", "0", ""}, {"label-smoothing", "0.1", ""}});
  EXPECT_THAT(differences(point_, current_),
              ElementsAre("schedule is linear in the checkpoint, cosine here",
                          "r-drop is 0 in the checkpoint, 0.5 here"))
      << "a checkpoint that was made before the option existed says nothing about it";
}

TEST_F(Differences, ThatWouldMixTwoRunsAreRefused) {
  const auto refused = [&] { return input_refusal([&] { (void)differences(point_, current_); }); };
  const std::string expected = concat("2: cannot resume from ", path("step-50"), ": ");
  const std::string over = " as before, or start over in another folder with --run";
  const std::string hint = " | give data and model" + over;
  current_.seed = 2;
  EXPECT_EQ(refused(), expected + "seed is 1 in the checkpoint, 2 here | give --seed 1" + over);
  current_.seed = 1;
  current_.optimizer = "lion";
  EXPECT_EQ(refused(),
            expected +
                "optimizer is adamw in the checkpoint, lion here | give --optimizer adamw as "
                "before, let the optimizer begin again with --reset-optimizer, or start over in "
                "another folder with --run");
  current_.reset.optimizer = true;
  EXPECT_NO_THROW((void)differences(point_, current_));
  current_.reset.optimizer = false;
  current_.optimizer = "adamw";
  current_.options.push_back({"momentum", "0.5", ""});
  point_.state.options.push_back({"momentum", "0.9", ""});
  point_.state.options.push_back({"optimizer", "adamw", ""});
  EXPECT_EQ(refused(),
            expected + "momentum is 0.9 in the checkpoint, 0.5 here | give --momentum 0.9" + over);
  current_.options.back().value = "0.9";
  current_.store = "another";
  EXPECT_EQ(refused(), expected + "the data is not what the checkpoint was trained on" + hint);
  current_.store = "identity";
  current_.config.hidden = 256;
  current_.config.heads = 4;
  EXPECT_EQ(refused(), expected +
                           "the model's hidden_size is 128 in the checkpoint, 256 here; the "
                           "model's num_attention_heads is 2 in the checkpoint, 4 here" +
                           hint);
}

TEST_F(Differences, RequireStepsThatAreLeft) {
  point_.own = true;
  point_.state.step = 60;
  begin_run();
  const RunFolder run = RunFolder::open(path("run"), RunFolder::IfExists::reuse);
  require_steps_left(point_, run, 1);
  require_steps_left(point_, run, 0);  // the run was killed before it wrote its result
  EXPECT_EQ(input_refusal([&] { require_steps_left(point_, run, -10); }),
            concat("2: the run would end before ", path("step-50"),
                   ", which is at step 60 in epoch 1 | give more --epochs or --steps, or start "
                   "over in another folder with --run"));
  write("run/report.html", "");
  EXPECT_EQ(
      input_refusal([&] { require_steps_left(point_, run, 0); }),
      concat("2: the run in ", path("run"),
             " is finished, with 60 steps | choose another folder with --run, or train longer "
             "with more --epochs or --steps"));
  require_steps_left(point_, run, 1);
}

}  // namespace
}  // namespace bp::trainer
