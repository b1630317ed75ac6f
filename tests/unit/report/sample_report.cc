#include "sample_report.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/support/labelled_rows.h"
#include "trainer/report/lengths_section.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/analysis.h"
#include "trainer/tasks/classify/sections.h"

namespace bp::trainer {
namespace {

Metrics sample_metrics() {
  Metrics metrics;
  constexpr int kSteps = 1580;
  for (int step = 10; step <= kSteps; step += 10) {
    const double done = static_cast<double>(step) / kSteps;
    metrics.steps.push_back({.step = step,
                             .epoch = 3 * done,
                             .samples = 128 * step,
                             .loss = 0.12 + 0.58 * std::exp(-4 * done) + 0.05 * std::sin(step),
                             .lr = 1e-4 * (done < 0.1 ? 10 * done : (1 - done) / 0.9),
                             .grad_norm = 1.2 + std::cos(step * 0.7),
                             .figures = {{"kept_fraction", 0.9 - 0.2 * done}},
                             .samples_per_s = 1180 + 40 * std::sin(step * 0.3),
                             .tokens_per_s = 15800,
                             .compute_ms = 98.5,
                             .comm_exposed_ms = 6.2,
                             .data_wait_ms = 0.4});
  }
  metrics.steps[40].loss = std::nan("");
  for (int k = 1; k <= 6; ++k) {
    const double loss = 0.35 + 0.3 / k;
    metrics.evaluations.push_back({.step = k * kSteps / 6,
                                   .epoch = k / 2.0,
                                   .split = "dev",
                                   .result = {{{"loss", loss},
                                               {"accuracy", 0.83 - 0.2 / k},
                                               {"mcc", 0.6},
                                               {"f1_macro", 0.8},
                                               {"log_loss", loss}}}});
  }
  return metrics;
}

ErrorRows sample_errors() {
  const std::string names[] = {"negative", "neutral <&>", "positive"};
  const std::string texts[] = {
      "It was \"not\" bad at all & I would <b>buy</b> it again.",
      "</script><script>alert('out')</script>",
      "First line,\nsecond line; the rest is \xFF\xFE not UTF-8.",
      std::string(900, 'w') + " a word wider than any screen",
      "\xE2\x80\x9E\xC3\x9C"
      "berraschend gut\xE2\x80\x9C, \xE6\x9C\xAC\xE5\xBD\x93\xE3\x81\xAB\xE8\x89\xAF\xE3\x81\x84"};
  ErrorRows errors{.split = "test", .order = "the highest loss"};
  for (int k = 0; k < 5; ++k) {
    const double share = 0.001 * (k + 1);
    errors.rows.push_back({.text = texts[k],
                           .answer = names[k % 3],
                           .prediction = names[(k + 1) % 3],
                           .facts = concat("probability of the true label ", brief(share),
                                           ", loss ", fixed(-std::log(share), 2)),
                           .text_id = 100 + k,
                           .sample_id = 9000 + k});
  }
  return errors;
}

Sections sample_sections(const Counts& counts, std::vector<std::string> labels) {
  const Tally tally = tally_of(counts);
  return class_sections({"test", std::move(labels), scores_of(counts), sample_errors()}, &tally);
}

Sections sample_evaluation() {
  return sample_sections({{612, 31, 12}, {44, 540, 38}, {9, 27, 508}},
                         {"negative", "neutral <&>", "positive"});
}

Sections sample_analysis() {
  std::vector<float> shares;
  AnalysedSplit analysed{.split = "test", .labels = {"negative", "neutral <&>", "positive"}};
  for (int i = 0; i < 300; ++i) {
    const float right = 0.4F + 0.002F * static_cast<float>(i);
    shares.insert(shares.end(), {right, (1 - right) / 2, (1 - right) / 2});
    analysed.given.labels.push_back(i % 10 < 7 ? 0 : i % 3);
    analysed.lengths.push_back(3 + i % 90);
  }
  analysed.given.shares = shares;
  analysed.given.classes = 3;
  return joined(
      {analysis_sections(analysed),
       {label_counts_section(analysed.labels, {{"train", {70, 20, 10}}, {"test", {7, 2, 1}}})}});
}

}  // namespace

Report sample_report() {
  Report report{.title = "reviews"};
  report.summary = {
      .model = "tiny",
      .world = 4,
      .hosts = 2,
      .steps = 1580,
      .epochs = 3,
      .train = {.samples_per_s = 1184.3, .tokens_per_s = 15804, .seconds = 170.8, .loss = 0.14},
      .dev = EvaluationSummary{{{"loss", 0.4}, {"accuracy", 0.8}}},
      .test = EvaluationSummary{{{"loss", 0.306},
                                 {"accuracy", 0.912},
                                 {"mcc", 0.868},
                                 {"f1_macro", 0.911},
                                 {"log_loss", 0.306}}},
      .parameters = {{"embeddings", 3'972'864, 0, 0.81},
                     {"layer 0", 198'272, 198'272, 0.9},
                     {"layer 1", 198'272, 198'272, 1},
                     {"head <&>", 387, 387, 1}},
      .lengths = {lengths_of("train", {12, 9, 48, 128}, 4), lengths_of("test", {7}, 1)},
      .comm = {.bytes = 27'000'000'000, .seconds_exposed = 10.1}};
  report.metrics = sample_metrics();
  report.main_score = "accuracy";
  report.tiles = {{"Accuracy", "91.2 %", "test"}, {"Log loss", "0.306", "test"}};
  report.results = joined({sample_evaluation(), sample_analysis()});
  report.sessions = {{.begun = "2026-11-24T03:02:00Z", .version = "0.1.0", .machine = "2 cores"},
                     {.from_step = 700,
                      .begun = "2026-11-25T03:02:00Z",
                      .version = "0.1.0",
                      .machine = "<script>alert('in')</script>"}};
  report.result_files = {"predictions.csv", "classes.csv"};
  report.settings = {{.key = "data", .value = "examples/reviews.csv", .origin = "command line"},
                     {.key = "model", .value = "tiny", .origin = "default"},
                     {.key = "batch", .value = "32", .origin = "default"},
                     {.key = "lr", .value = "0.0001", .origin = "config file"},
                     {.key = "vocab",
                      .value = "/a/path/without/any/blank/" + std::string(90, 'x') + "/vocab.txt",
                      .origin = "command line"}};
  report.hosts = {{.name = "localhost", .ranks = 3}, {.name = "127.0.0.1", .ranks = 1}};
  return report;
}

Report sample_report_of(int classes) {
  Report report = sample_report();
  const auto size = static_cast<std::size_t>(classes);
  Counts counts(size, std::vector<int>(size));
  std::vector<std::string> labels;
  for (int i = 0; i < classes; ++i) {
    labels.push_back("a topic of number " + std::to_string(i));
    for (int n = 0; n < 40; ++n) {
      const bool wrong = n < i % 7;
      const int prediction = wrong ? (i * 13 + n) % classes : i;
      ++counts[static_cast<std::size_t>(i)][static_cast<std::size_t>(prediction)];
    }
  }
  report.results = sample_sections(counts, labels);
  return report;
}

}  // namespace bp::trainer
