// Decides which model and which data `bert_train eval SOURCE [DATA]` and `predict` score.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/options/option_set.h"
#include "trainer/options/options.h"

namespace bp::trainer {

struct EvaluationSource {
  std::string model;     // a folder with config.json
  std::string run = {};  // the run's folder that it belongs to; empty: none
};

// Finds the model of `source`: the folder of a run (its model, or that of its last checkpoint),
// RUN/model, a checkpoint of a run, or any other folder with a model. With `checkpoint`, the model
// of that checkpoint: a name in RUN/checkpoints, or a folder. Throws InputError: 66 if there is no
// model; 2 if `source` is not a run although `checkpoint` is given, or if it has no such
// checkpoint.
[[nodiscard]] EvaluationSource find_evaluation_source(const std::string& source,
                                                      const std::string& checkpoint = "");

// Returns the task of the run to which the folder belongs, or "" if it belongs to none or the run
// does not say it.
[[nodiscard]] std::string task_of_run(const std::string& source);

// What an evaluation will do, as far as the command line does not say it.
struct EvaluationPlan {
  EvaluationSource source;
  bool own = false;                       // the run's own data, as it was split for training
  bool whole = false;                     // all of the data file
  bool seen = false;                      // the run was trained on a part of that file
  bool store_is_typed = false;            // --store is from the command line, not the run's
  std::vector<ConfigValue> presets = {};  // DATA, and values of the run, for what was not typed
};

struct EvaluateOptions : DataOptions {
  std::string source;      // the folder of a run, model or checkpoint
  std::string on;          // "train", "dev" or "test"; empty: test, or dev where there is no test
  std::string checkpoint;  // of the run in `source`: its name or folder; empty: the run's model
  std::string out;         // a file for predictions; empty: none, or standard output of `predict`
  DeviceChoice device = DeviceChoice::automatic;
  Precision precision = Precision::fp32;
  EvaluationPlan plan;
};

// Of predictions; kaggle: the file that the competition of the task takes.
enum class OutFormat : std::uint8_t { csv, jsonl, kaggle };

// What becomes of a row that cannot be read.
enum class OnError : std::uint8_t { stop, skip };

struct PredictOptions : EvaluateOptions {
  OutFormat out_format = OutFormat::csv;
  OnError on_error = OnError::stop;
};

// `typed` is the command line alone, which `set` has parsed; `predicts`: of bert_train predict.
// Without DATA the run's data is scored; with --on, DATA may name it too. All of a text file is
// scored, unless --split, --dev or --test divides it. Throws InputError: 2 if DATA is missing and
// no run names it, or for --on with a file of which all is scored; 65 and 66 for files of the run
// or model that cannot be read.
[[nodiscard]] EvaluationPlan plan_evaluation(const EvaluateOptions& typed,
                                             const OptionSet& set,
                                             bool predicts);

}  // namespace bp::trainer
