// One trial: its command line, its reports, and the record of its end.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/sweep/trial/attempt.h"
#include "launcher/sweep/trial/metric_file.h"
#include "launcher/sweep/trial/trial_program.h"
#include "tests/support/scratch.h"

namespace bp::launcher::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string text_of(const std::optional<Report>& report) {
  return report ? std::to_string(report->step) + ":" + std::to_string(report->value) : "";
}

std::vector<std::string> texts_of(const std::vector<Report>& reports) {
  std::vector<std::string> texts;
  for (const Report& report : reports) texts.push_back(text_of(report));
  return texts;
}

TEST(TrialProgram, FillsInNamesAndAppendsTheOthers) {
  const Parameters parameters{{"lr", Value::of_scalar("1e-5")},
                              {"data", Value::of_text("my file.csv")},
                              {"deep", Value::of_boolean(true)},
                              {"wide", Value::of_boolean(false)},
                              {"n", Value::of_integer(3)}};
  EXPECT_THAT(trial_program({"run", "{data}", "--out={folder}/t{trial}", "{other}", "{"},
                            parameters, {.trial = 7, .folder = "s/trials/7"}),
              ElementsAre("run", "my file.csv", "--out=s/trials/7/t7", "{other}", "{", "--lr",
                          "1e-5", "--deep", "-n", "3"));
}

TEST(TrialProgram, BertTrainGetsARunFolder) {
  EXPECT_THAT(trial_program({"/bin/bert_train", "d.csv"}, {},
                            {.trial = 2, .folder = "s/trials/2", .trains = true}),
              ElementsAre("/bin/bert_train", "d.csv", "--run", "s/trials/2/run"));
}

TEST(MetricLine, IsReadFromStdout) {
  EXPECT_EQ(text_of(parse_metric_line("bp: metric 0.5 12", 1)), "12:0.500000");
  EXPECT_EQ(text_of(parse_metric_line("[0] bp: metric -1e3 12\r", 1)), "12:-1000.000000");
  EXPECT_EQ(text_of(parse_metric_line("bp: metric 0.5", 4)), "4:0.500000");
  for (const char* line :
       {"[1] bp: metric 0.5 12", "bp: metric", "bp: metric x 1", "bp: metric nan 1",
        "bp: metric 1 2 3", "a bp: metric 1 2", "bp: metric 1 2.5", "bp: metrics 1 2"}) {
    EXPECT_EQ(text_of(parse_metric_line(line, 1)), "") << line;
  }
}

TEST(MetricLine, IsReadFromMetricsJsonl) {
  const char* const kDev = R"({"step":200,"split":"dev","loss":0.43,"accuracy":0.81})";
  EXPECT_EQ(text_of(parse_metrics_json(kDev, "dev_accuracy")), "200:0.810000");
  EXPECT_EQ(text_of(parse_metrics_json(kDev, "dev_loss")), "200:0.430000");
  EXPECT_EQ(text_of(parse_metrics_json(kDev, "train_loss")), "");
  EXPECT_EQ(text_of(parse_metrics_json(kDev, "dev_f1")), "");
  EXPECT_EQ(text_of(parse_metrics_json(R"({"step":50,"loss":0.61})", "train_loss")), "50:0.610000");
  EXPECT_EQ(text_of(parse_metrics_json(R"({"step":50,"loss":null})", "train_loss")), "");
  EXPECT_EQ(text_of(parse_metrics_json(R"({"step":50,"lo)", "train_loss")), "");
}

TEST(MetricFile, FollowsAFileThatGrows) {
  const Scratch scratch;
  const std::string path = scratch.path("stdout");
  MetricFile file(path, "");
  EXPECT_THAT(file.read(), IsEmpty());
  std::string text = "bp: metric 1\nnoise\nbp: metric 2\nbp: met";
  scratch.write("stdout", text);
  EXPECT_THAT(texts_of(file.read()), ElementsAre("1:1.000000", "2:2.000000"));
  text += "ric 3 9\n" + std::string(100'000, 'x') + "\nbp: metric 4";
  scratch.write("stdout", text);
  EXPECT_THAT(texts_of(file.read()), ElementsAre("9:3.000000"));
  EXPECT_THAT(texts_of(file.read(true)), ElementsAre("10:4.000000"));
  EXPECT_THAT(file.read(true), IsEmpty());
}

TEST(MetricFile, BeginsWhereTheAttemptBegan) {
  const Scratch scratch;
  const std::string before = "bp: metric 1 1\n";
  scratch.write("stdout", before + "bp: metric 2\n");
  EXPECT_THAT(
      texts_of(
          MetricFile(scratch.path("stdout"), "", static_cast<std::int64_t>(before.size())).read()),
      ElementsAre("1:2.000000"));
}

TEST(MetricFile, AShorterFileIsReadAgain) {
  const Scratch scratch;
  MetricFile file(scratch.path("metrics.jsonl"), "train_loss");
  scratch.write("metrics.jsonl", "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n");
  EXPECT_EQ(file.read().size(), 2U);
  scratch.write("metrics.jsonl", "{\"step\":1,\"loss\":5}\n");
  EXPECT_THAT(texts_of(file.read()), ElementsAre("1:5.000000"));
}

TEST(SeenMetrics, AreTheEvaluationsAndTheLoss) {
  const Scratch scratch;
  scratch.write("metrics.jsonl",
                "{\"step\":1,\"epoch\":0.5,\"loss\":3,\"lr\":0.1}\nnoise\n"
                "{\"step\":1,\"split\":\"dev\",\"accuracy\":0.5,\"matrix\":[1]}\n"
                "{\"step\":2,\"split\":\"dev\",\"accuracy\":0.6}\n");
  EXPECT_THAT(names_in_metrics(scratch.path("metrics.jsonl")),
              ElementsAre("train_loss", "dev_accuracy"));
  EXPECT_THAT(names_in_metrics(scratch.path("absent")), ElementsAre());
}

TEST(SeenMetrics, NameALineThatIsNoReport) {
  const Scratch scratch;
  scratch.write("stdout", "metric\n[0] bp: metric 1 2\n[0] bp: metric: 5\nbp: metric 1 2 3\n");
  EXPECT_EQ(refused_report(scratch.path("stdout")), "bp: metric: 5");
  scratch.write("stdout", "bp: metric 1\n");
  EXPECT_EQ(refused_report(scratch.path("stdout")), std::nullopt);
}

TEST(ExitRecord, SaysHowAnAttemptEnded) {
  const Scratch scratch;
  EXPECT_EQ(read_exit_record(scratch.path()), std::nullopt);
  write_exit_record(scratch.path(), {3, 75, 1234.5});
  EXPECT_EQ(read_exit_record(scratch.path()), (ExitRecord{3, 75, 1234.5}));
  scratch.write("ended", "attempt 3 co");
  EXPECT_EQ(read_exit_record(scratch.path()), std::nullopt);
}

TEST(ExitRecord, OverwritesTheSpaceThatWasReserved) {
  const Scratch scratch;
  reserve_exit_record(scratch.path());
  const auto reserved = std::filesystem::file_size(scratch.path("ended.part"));
  EXPECT_EQ(read_exit_record(scratch.path()), std::nullopt) << "no attempt has ended";
  write_exit_record(scratch.path(), {1'000'000'000, 130, 1e12});
  EXPECT_EQ(std::filesystem::file_size(scratch.path("ended")), reserved);
  EXPECT_EQ(read_exit_record(scratch.path()), (ExitRecord{1'000'000'000, 130, 1e12}));
}

TEST(AttemptLock, IsHeldByAProcessUntilItsEnd) {
  const Scratch scratch;
  EXPECT_FALSE(attempt_runs(scratch.path())) << "there is no lock yet";
  int told[2];
  ASSERT_EQ(::pipe2(told, O_CLOEXEC), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const FileLock lock = lock_attempt(scratch.path());
    static_cast<void>(::write(told[1], "x", 1));
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(told[0], &byte, 1), 1);
  EXPECT_TRUE(attempt_runs(scratch.path()));
  EXPECT_ANY_THROW((void)lock_attempt(scratch.path()));
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_FALSE(attempt_runs(scratch.path()));
  ::close(told[0]);
  ::close(told[1]);
}

}  // namespace
}  // namespace bp::launcher::sweep
