// summary.json as it is written and read.
#include "trainer/report/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/labelled_rows.h"
#include "trainer/tasks/classify/scores.h"

namespace bp::trainer {
namespace {

using testing::HasSubstr;

TEST(Summary, SaysWhyTheRunEndedAndWhichWeightsItKept) {
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

TEST(Summary, ScoresWithoutASingleLabelAreNull) {
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
TEST(Summary, IsAsDocumented) {
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

}  // namespace
}  // namespace bp::trainer
