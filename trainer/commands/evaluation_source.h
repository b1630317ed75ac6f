// What `bert_train eval SOURCE [DATA]` means: which model scores, and which data.
#pragma once

#include <string>
#include <vector>

#include "trainer/options/options.h"

namespace bp::trainer {

struct EvaluationSource {
  std::string model;     // a folder with config.json
  std::string run = {};  // the run's folder that it belongs to; empty: none
};

// `source` is a run's folder (its model, or that of its last checkpoint), RUN/model, a checkpoint
// of a run, or any other folder with a model. Throws InputError (66) when it holds no model.
[[nodiscard]] EvaluationSource find_evaluation_source(const std::string& source);

// What an evaluation is about to do, besides what was typed.
struct EvaluationPlan {
  EvaluationSource source;
  std::string data;
  bool own = false;                         // the run's own data, as it was split for training
  bool whole = false;                       // all of the file `data`
  bool seen = false;                        // the run was trained on a part of that file
  std::vector<std::string> arguments = {};  // defaults, to stand before what was typed
};

// `typed` is the command line alone. DATA that is not given is the run's; with --on it may be named
// too. A text file is scored whole, unless --split, --dev or --test divides it. Throws InputError:
// 2 when DATA is missing and no run names it, or for --on with a file that is scored whole; 65 and
// 66 for files of the run or model that cannot be read.
[[nodiscard]] EvaluationPlan plan_evaluation(const Options& typed);

}  // namespace bp::trainer
