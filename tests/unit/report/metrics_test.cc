// metrics.jsonl: its lines as they are written and read.
#include "trainer/report/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "bp/error.h"
#include "tests/support/scratch.h"

namespace bp::trainer {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class MetricsLines : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return scratch_.path(name); }

  Scratch scratch_;
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

TEST_F(MetricsLines, AreAsDocumented) {
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

TEST_F(MetricsLines, HoldTheCommunicatorsCounters) {
  MetricsWriter(path("m"), 0).write(step_record(1));
  const Counters read = read_metrics(path("m")).steps.at(0).comm;
  EXPECT_EQ(read.operations, 12U);
  EXPECT_EQ(read.seconds_waiting, 0.25);
  ASSERT_EQ(read.kinds.size(), 2U);
  EXPECT_EQ(read.kinds[1].operation, "broadcast");
  EXPECT_EQ(read.kinds[1].algorithm, "staged");
  EXPECT_EQ(read.kinds[1].bytes, 8000U);

  std::string older = read_file(path("m"));
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

TEST_F(MetricsLines, HoldTheLossScaleOfRunsThatHaveOne) {
  StepRecord record = step_record(1);
  record.loss_scale = 65536;
  EXPECT_THAT(to_json_line(record), HasSubstr(R"("skipped":3,"loss_scale":65536,)"));
  MetricsWriter(path("m"), 0).write(record);
  EXPECT_EQ(read_metrics(path("m")).steps.at(0).loss_scale, 65536);
}

TEST_F(MetricsLines, HoldTheRowsOfRanksThatHaveUnequalShares) {
  StepRecord record = step_record(1);
  EXPECT_THAT(to_json_line(record), Not(HasSubstr("rows")));
  record.rows = {20, 12};
  EXPECT_THAT(to_json_line(record), HasSubstr(R"("rows":[20,12],)"));
  MetricsWriter(path("m"), 0).write(record);
  EXPECT_EQ(read_metrics(path("m")).steps.at(0).rows, record.rows);
}

TEST_F(MetricsLines, HoldValuesThatJsonLacks) {
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

TEST_F(MetricsLines, OfAResumedRunHaveEachStepOnce) {
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
  EXPECT_EQ(read_file(path("m")), "");
}

TEST_F(MetricsLines, ErrorsNameTheFileAndLine) {
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

TEST_F(MetricsLines, ThatAreNestedDeeplyAreRefused) {
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
  EXPECT_EQ(read_file(path("m")), "");
}

}  // namespace
}  // namespace bp::trainer
