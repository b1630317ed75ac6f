// summary.json: the result of a run in one object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/report/lengths_section.h"
#include "trainer/report/metrics.h"
#include "trainer/report/parameter_table.h"

namespace bp::trainer {

struct TrainSummary {
  double samples_per_s = 0;  // of the whole world, over `seconds`
  double tokens_per_s = 0;
  double seconds = 0;        // time in training steps, without preparation, evaluation and saving
  double loss = 0;           // loss of the last logged step
  std::int64_t skipped = 0;  // steps of the run that made no update, see report.md
  std::int64_t split_batches = 0;          // micro-batches that were computed in pieces; 0: no key
  std::vector<EpochFigures> figures = {};  // of each epoch; empty: no step reported any
};

struct CommSummary {
  std::int64_t bytes = 0;      // bytes that rank 0 sent for gradients
  double seconds_exposed = 0;  // rank 0's waiting time that no computation hid
};

struct RunSummary {
  std::string task = "classify";
  std::string model = "tiny";
  int world = 1;
  int hosts = 1;
  std::string device = {};  // rank 0's GPU; empty, with no key in the file: a CPU
  std::int64_t steps = 0;
  double epochs = 0;  // a whole number is written without ".0"
  TrainSummary train = {};
  // A split that was not evaluated has no key in the file.
  std::optional<EvaluationSummary> dev = {};
  std::optional<EvaluationSummary> test = {};
  std::optional<EvaluationSummary> overfit = {};  // of the samples of --overfit
  std::string ended = {};        // "steps", or what ended the run early; empty: no key in the file
  std::string ended_early = {};  // that as a sentence's part; empty: all steps were made, no key
  std::string best_metric = {};  // compares evaluations of dev; empty: no key in the file
  std::string final_weights = {};          // "last" or "best"; empty: no key in the file
  std::int64_t final_step = 0;             // whose weights the model has
  std::vector<ModelPart> parameters = {};  // of the model; empty: no key in the file
  std::vector<SplitLengths> lengths = {};  // of the splits that have samples; empty: no key
  CommSummary comm = {};
};

// Reads what to_json() wrote; null becomes NaN. Throws Error (invalid_argument) or Json::exception
// if the text is none of that.
[[nodiscard]] RunSummary parse_summary(const std::string& json);

// Returns indented JSON that ends with a line feed. A value that is not finite is null.
[[nodiscard]] std::string to_json(const RunSummary& summary);

}  // namespace bp::trainer
