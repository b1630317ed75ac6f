#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>

#include "base/report/report_table.h"
#include "bp/error.h"
#include "tests/support/labelled_rows.h"
#include "trainer/common/whole_file.h"
#include "trainer/report/metrics.h"
#include "trainer/report/predictions.h"
#include "trainer/report/summary.h"
#include "trainer/tasks/classify/scores.h"

namespace bp::trainer {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

class Files : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("bp_report_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

StepRecord step_record(std::int64_t step) {
  return {.step = step,
          .epoch = 0.25,
          .samples = 32 * step,
          .loss = 0.1,
          .lr = 1e-4,
          .grad_norm = 1.5,
          .skipped = 3,
          .samples_per_s = 410.23456,
          .tokens_per_s = 8204,
          .compute_ms = 140.2,
          .comm_exposed_ms = 3.14159,
          .data_wait_ms = 0,
          .comm = {.operations = 12,
                   .bytes = 48000,
                   .seconds_busy = 0.5000004,
                   .seconds_waiting = 0.25,
                   .kinds = {{.operation = "all_reduce",
                              .algorithm = "direct",
                              .operations = 10,
                              .bytes = 40000,
                              .seconds_busy = 0.375,
                              .seconds_waiting = 0.125},
                             {.operation = "broadcast",
                              .algorithm = "staged",
                              .operations = 2,
                              .bytes = 8000,
                              .seconds_busy = 0.125,
                              .seconds_waiting = 0.125}}}};
}

TEST_F(Files, MetricsLinesAreAsDocumented) {
  EXPECT_EQ(to_json_line(step_record(50)),
            R"({"step":50,"epoch":0.25,"samples":1600,"loss":0.1,"lr":0.0001,"grad_norm":1.5,)"
            R"("skipped":3,"samples_per_s":410.235,"tokens_per_s":8204,"compute_ms":140.2,)"
            R"("comm_exposed_ms":3.142,"data_wait_ms":0,)"
            R"("comm":{"operations":12,"bytes":48000,"seconds_busy":0.5,"seconds_waiting":0.25,)"
            R"("kinds":[{"operation":"all_reduce","algorithm":"direct","operations":10,)"
            R"("bytes":40000,"seconds_busy":0.375,"seconds_waiting":0.125},)"
            R"({"operation":"broadcast","algorithm":"staged","operations":2,)"
            R"("bytes":8000,"seconds_busy":0.125,"seconds_waiting":0.125}]}})"
            "\n");
  EXPECT_EQ(to_json_line({.step = 200,
                          .epoch = 1,
                          .samples = 12800,
                          .split = "dev",
                          .result = {{{"loss", 0.5},
                                      {"accuracy", 0.75},
                                      {"mcc", -0.5},
                                      {"f1_macro", 0.7},
                                      {"log_loss", 0.5}}}}),
            R"({"step":200,"epoch":1,"samples":12800,"split":"dev","loss":0.5,"accuracy":0.75,)"
            R"("mcc":-0.5,"f1_macro":0.7,"log_loss":0.5})"
            "\n");
}

TEST_F(Files, MetricsHoldTheCommunicatorsCounters) {
  MetricsWriter(path("m"), 0).write(step_record(1));
  const Counters read = read_metrics(path("m")).steps.at(0).comm;
  EXPECT_EQ(read.operations, 12U);
  EXPECT_EQ(read.seconds_waiting, 0.25);
  ASSERT_EQ(read.kinds.size(), 2U);
  EXPECT_EQ(read.kinds[1].operation, "broadcast");
  EXPECT_EQ(read.kinds[1].algorithm, "staged");
  EXPECT_EQ(read.kinds[1].bytes, 8000U);

  std::string older = content_of(path("m"));
  EXPECT_EQ(read_metrics(path("m")).steps.at(0).skipped, 3);
  EXPECT_EQ(read_metrics(path("m")).steps.at(0).loss_scale, 0);
  older.erase(older.find(R"(,"comm")"));
  older.erase(older.find(R"("skipped":3,)"), 12);
  std::ofstream(path("m")) << older << "}\n";
  EXPECT_EQ(read_metrics(path("m")).steps.at(0).comm.operations, 0U);
  EXPECT_EQ(read_metrics(path("m")).steps.at(0).skipped, 0);

  std::ofstream(path("m")) << older << R"(,"comm":{"operations":-1}})" << '\n';
  EXPECT_THAT([&] { (void)read_metrics(path("m")); },
              ThrowsMessage<Error>(HasSubstr("\"operations\" is -1, not a whole number")));
}

TEST_F(Files, MetricsHoldTheLossScaleOfRunsThatHaveOne) {
  StepRecord record = step_record(1);
  record.loss_scale = 65536;
  EXPECT_THAT(to_json_line(record), HasSubstr(R"("skipped":3,"loss_scale":65536,)"));
  MetricsWriter(path("m"), 0).write(record);
  EXPECT_EQ(read_metrics(path("m")).steps.at(0).loss_scale, 65536);
}

TEST_F(Files, MetricsHoldValuesThatJsonLacks) {
  StepRecord record = step_record(1);
  record.loss = std::nan("");
  record.grad_norm = -std::numeric_limits<double>::infinity();
  const std::string line = to_json_line(record);
  EXPECT_THAT(line, HasSubstr(R"("loss":null)"));
  EXPECT_THAT(line, HasSubstr(R"("not_finite":{"loss":"nan","grad_norm":"-inf"}})"));

  MetricsWriter(path("m"), 0).write(record);
  const Metrics metrics = read_metrics(path("m"));
  ASSERT_EQ(metrics.steps.size(), 1U);
  EXPECT_TRUE(std::isnan(metrics.steps[0].loss));
  EXPECT_EQ(metrics.steps[0].grad_norm, record.grad_norm);
  EXPECT_EQ(metrics.steps[0].lr, record.lr);
}

TEST_F(Files, MetricsOfAResumedRunHaveEachStepOnce) {
  {
    MetricsWriter writer(path("m"));
    for (const int step : {50, 100, 150}) {
      writer.write(step_record(step));
    }
    writer.write(EvaluationRecord{.step = 150, .split = "dev"});
  }
  // The run was killed while it wrote this line.
  std::ofstream(path("m"), std::ios::app) << R"({"step":175,"lo)";
  EXPECT_EQ(read_metrics(path("m")).steps.size(), 3U);

  MetricsWriter(path("m"), 100).write(step_record(150));
  const Metrics metrics = read_metrics(path("m"));
  ASSERT_EQ(metrics.steps.size(), 3U);
  EXPECT_EQ(metrics.steps[2].step, 150);
  EXPECT_TRUE(metrics.evaluations.empty());

  MetricsWriter(path("m"), 150).write(EvaluationRecord{.step = 150, .split = "dev"});
  EXPECT_EQ(read_metrics(path("m")).steps.size(), 3U);
  EXPECT_EQ(read_metrics(path("m")).evaluations.at(0).split, "dev");

  MetricsWriter begun_again(path("m"));
  EXPECT_EQ(content_of(path("m")), "");
}

TEST_F(Files, MetricsErrorsNameTheFileAndLine) {
  try {
    MetricsWriter writer(path("none/m"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_EQ(error.what(), "cannot open " + path("none/m") + ": No such file or directory");
  }
  try {
    MetricsWriter writer("/dev/null");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), std::string("cannot shorten /dev/null: Invalid argument"));
  }
  try {
    (void)read_metrics(path("none/m"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_EQ(error.what(), "cannot open " + path("none/m") + ": No such file or directory");
  }
  std::ofstream(path("m")) << to_json_line(step_record(1)) << "{\"step\":\"two\"}\n";
  try {
    (void)read_metrics(path("m"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path("m") + ", line 2 is not a line of metrics: "
                                                    "\"step\" is \"two\", not a whole number"));
  }
}

TEST_F(Files, ASummarySaysWhyTheRunEndedAndWhichWeightsItKept) {
  RunSummary summary;
  for (const char* key : {"\"ended\"", "\"best_metric\"", "\"final\"", "\"overfit\""}) {
    EXPECT_EQ(to_json(summary).find(key), std::string::npos) << key;
  }
  summary.ended = "patience";
  summary.best_metric = "mcc";
  summary.final_weights = "best";
  summary.final_step = 40;
  summary.overfit = EvaluationSummary{{{"loss", 0.25}}};
  EXPECT_THAT(to_json(summary), HasSubstr(R"(  "overfit": {
    "loss": 0.25
  },
  "ended": "patience",
  "best_metric": "mcc",
  "final": {
    "weights": "best",
    "step": 40
  },
)"));
}

TEST_F(Files, ScoresWithoutASingleLabelAreNull) {
  RunSummary summary;
  summary.test = summary_of(scores_of(Counts{{0, 0}, {0, 0}}), {});
  EXPECT_THAT(to_json(summary), HasSubstr(R"("test": {
    "loss": null,
    "accuracy": null,
    "mcc": null,
    "kappa": null,
    "f1_macro": null,
    "f1_weighted": null,
    "precision_macro": null,
    "recall_macro": null,
    "roc_auc": null,
    "brier": null,
    "ece": null,
    "log_loss": null
  })"));
}

// docs/features.md, Evaluation and reports: Results as JSON | `summary.json`
TEST_F(Files, SummaryIsAsDocumented) {
  RunSummary summary{.task = "classify",
                     .model = "tiny",
                     .world = 4,
                     .hosts = 2,
                     .steps = 1580,
                     .epochs = 3,
                     .train = {.samples_per_s = 812.5,
                               .tokens_per_s = 9301.1234,
                               .seconds = 248.7,
                               .loss = 0.25,
                               .skipped = 2},
                     .dev = EvaluationSummary{{{"loss", 0.5},
                                               {"accuracy", 0.8},
                                               {"mcc", 0.6},
                                               {"f1_macro", 0.79},
                                               {"log_loss", 0.5}}},
                     .test = {},
                     .comm = {.bytes = 123456789012, .seconds_exposed = 1.25}};
  EXPECT_EQ(to_json(summary), R"({
  "task": "classify",
  "model": "tiny",
  "world": 4,
  "hosts": 2,
  "steps": 1580,
  "skipped_steps": 2,
  "epochs": 3,
  "train": {
    "samples_per_s": 812.5,
    "tokens_per_s": 9301.123,
    "seconds": 248.7,
    "loss": 0.25
  },
  "dev": {
    "loss": 0.5,
    "accuracy": 0.8,
    "mcc": 0.6,
    "f1_macro": 0.79,
    "log_loss": 0.5
  },
  "comm": {
    "bytes": 123456789012,
    "seconds_exposed": 1.25
  }
}
)");
  summary.train.loss = std::nan("");
  EXPECT_THAT(to_json(summary), HasSubstr("\"loss\": null"));
}

TEST(Summary, OfARunThatEndedEarlyIsReadBack) {
  const RunSummary ended{.overfit = EvaluationSummary{{{"loss", 0.5}}},
                         .ended = "patience",
                         .ended_early = "the loss did not improve",
                         .best_metric = "loss",
                         .final_weights = "best",
                         .final_step = 900};
  const RunSummary read = parse_summary(to_json(ended));
  EXPECT_EQ(to_json(read), to_json(ended));
  EXPECT_EQ(read.final_weights, "best");
  EXPECT_EQ(read.final_step, 900);
  EXPECT_EQ(read.ended_early, "the loss did not improve");
}

// One list of fields writes and reads a summary, so a field cannot be written and not read.
TEST(Summary, AllThatIsWrittenIsReadBack) {
  const RunSummary summary{
      .device = "a GPU",
      .train = {.seconds = 2, .skipped = 1, .figures = {{1, {{"hits", 6, 2}}}, {1.5, {}}}},
      .dev = EvaluationSummary{{{"loss", std::nan("")}}},
      .test = EvaluationSummary{{{"loss", 0.5}}},
      .overfit = EvaluationSummary{{{"loss", 0.25}}},
      .ended = "time",
      .ended_early = "its time was over",
      .best_metric = "loss",
      .final_weights = "best",
      .final_step = 900,
      .parameters = {{"head", 10, 5, 0.5}},
      .comm = {.bytes = 3}};
  EXPECT_EQ(to_json(parse_summary(to_json(summary))), to_json(summary));
}

TEST_F(Files, MetricsThatAreNestedDeeplyAreRefused) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  std::ofstream(path("m")) << R"({"a":)" << deep << R"(,"b":1,"c":2})" << '\n';
  try {
    (void)read_metrics(path("m"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              path("m") + ", line 1 is not a line of metrics: it is nested too deeply");
  }
  EXPECT_NO_THROW(MetricsWriter(path("m"), 5));
  EXPECT_EQ(content_of(path("m")), "");
}

// docs/features.md, Evaluation and reports: A file of predictions | `predictions.csv`
TEST_F(Files, PredictionsAreAsDocumented) {
  const std::string first[] = {"so, so", "said \"no\"", probability_text(0.25)};
  const std::string second[] = {"", "so, so", probability_text(1e-9)};
  PredictionsWriter writer(path("p.csv"), {{"label"}, {"prediction"}, {"p_so, so", true}});
  writer.add({.sample_id = 7, .text_id = 3, .fields = first});
  writer.add({.sample_id = 9, .text_id = 3, .fields = second});
  EXPECT_FALSE(std::filesystem::exists(path("p.csv")));
  writer.finish();
  EXPECT_EQ(content_of(path("p.csv")),
            "sample_id,text_id,label,prediction,\"p_so, so\"\n"
            "7,3,\"so, so\",\"said \"\"no\"\"\",0.250000\n"
            "9,3,,\"so, so\",0.000000\n");
}

TEST_F(Files, PredictionsAsJsonLinesHaveNumbersWithoutQuotes) {
  const PredictionLines lines(PredictionFormat::jsonl, {{"label"}, {"p_\"a\"", true}, {"b", true}});
  EXPECT_EQ(lines.header(), "");
  const std::string fields[] = {"so, \"so\"\n\xFF", probability_text(0.25), ""};
  EXPECT_EQ(lines.line({.sample_id = 7, .text_id = 3, .fields = fields}),
            "{\"sample_id\": 7, \"text_id\": 3, \"label\": \"so, \\\"so\\\"\\n\uFFFD\", "
            "\"p_\\\"a\\\"\": 0.250000, \"b\": null}\n");
}

TEST_F(Files, PredictionsRefuseRowsOutOfOrderAndLeaveNoFile) {
  {
    const std::string fields[] = {"a", "b"};
    PredictionsWriter writer(path("p.csv"), {{"label"}, {"prediction"}});
    writer.add({.sample_id = 4, .fields = fields});
    try {
      writer.add({.sample_id = 4, .fields = fields});
      FAIL();
    } catch (const Error& error) {
      EXPECT_STREQ(
          error.what(),
          "prediction of sample 4 after that of sample 4: each sample must be added once, in "
          "order");
    }
    EXPECT_THROW(writer.add({.sample_id = 5, .fields = {}}), Error);
  }
  EXPECT_EQ(files(), 0U);
}

TEST(Csv, QuotesFieldsThatNeedIt) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("\""), "\"\"\"\"");
}

TEST_F(Files, AFolderWithTheNameOfAFileIsNamed) {
  std::filesystem::create_directories(path("f"));
  try {
    write_whole_file(path("f"), "new");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), HasSubstr("cannot write " + path("f") + ": Is a directory"));
  }
  EXPECT_EQ(files(), 1U) << "no file but the folder may be left";
}

TEST_F(Files, WholeFileReplacesTheFileOrLeavesIt) {
  write_whole_file(path("f"), "old");
  write_whole_file(path("f"), "new");
  EXPECT_EQ(content_of(path("f")), "new");
  std::filesystem::create_directory(path("f.part"));  // makes the next write fail
  EXPECT_THROW(write_whole_file(path("f"), "newest"), Error);
  EXPECT_EQ(content_of(path("f")), "new");
  EXPECT_EQ(files(), 2U);
}

TEST_F(Files, FilesAndFoldersThatCannotBeSyncedAreNamed) {
  write_whole_file(path("f"), "text");
  sync_file(path("f"));
  sync_folder(path(""));
  sync_folder("");
  EXPECT_THAT(
      [&] { sync_file(path("g")); },
      ThrowsMessage<Error>("cannot put " + path("g") + " on disk: No such file or directory"));
  EXPECT_THAT([&] { sync_folder(path("f")); },
              ThrowsMessage<Error>("cannot put " + path("f") + " on disk: Not a directory"));
}

}  // namespace
}  // namespace bp::trainer
