// What the user asked bert_train to do. The defaults here are those that --help shows.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options/setting.h"
#include "bp/trainer/run.h"
#include "bp/types.h"
#include "trainer/data/per_epoch.h"
#include "trainer/data/prepare.h"
#include "trainer/model/lora.h"
#include "trainer/model/precision.h"
#include "trainer/options/save_every.h"

namespace bp::trainer {

class TaskInput;       // trainer/tasks/task_input.h
struct ShardsOptions;  // trainer/commands/shards_options.h

enum class Action : std::uint8_t {
  train,
  prepare,
  check,
  estimate,
  scale,
  evaluate,
  predict,
  export_model,
  merge,
  shards,
  stop,
  report,
  runs,
  replay,
  sweep
};

// Where a model computes.
enum class DeviceChoice : std::uint8_t { automatic, cpu, cuda };

// Which weights become the run's model.
enum class FinalWeights : std::uint8_t { last, best };

// What ends a run before its last step.
struct EarlyStopOptions {
  int patience = 0;                   // evaluations in a row without an improvement; 0: any number
  double min_improvement = 0;         // what counts as one is better by more than this
  std::optional<double> target = {};  // score to reach
  std::chrono::seconds max_time{0};   // of the whole run; 0: any time
};

// What a run that resumes begins again, instead of continuing it.
struct Resets {
  bool schedule = false;
  bool optimizer = false;
  bool data = false;
  bool meters = false;
};

// A trained model whose outputs the run's model learns. See trainer/train/distillation.h.
struct DistillOptions {
  std::string teacher;     // its folder; empty: none
  double temperature = 2;  // of both models' outputs
  double weight = 0.5;     // of the teacher's part of the loss; 1: all of it
  double hidden = 0;       // weight of the difference of hidden states; 0: none
};

// Of predictions; kaggle: the file that the competition of the task takes.
enum class OutFormat : std::uint8_t { csv, jsonl, kaggle };

// What becomes of a row that cannot be read.
enum class OnError : std::uint8_t { stop, skip };

struct Options {
  Action action = Action::train;
  Extensions extensions;            // of the program, if it is not bert_train itself
  std::string task_name;            // a task of bert_train, or of the extensions
  std::shared_ptr<TaskInput> task;  // of that name, with its options
  std::string data;                 // the text file, or a store made from one
  bool data_is_store = false;       // as rank 0 sees it: other hosts may lack the file
  PrepareOptions prepare;
  bool stage = false;  // rank 0 sends its store to the hosts that lack it

  // Training.
  std::string model = "tiny";  // a preset's name or a folder
  double epochs = 0;           // 0: see default_epochs()
  std::int64_t steps = 0;      // 0: those of the epochs
  int batch = 32;              // rows in one micro-batch of one rank
  int max_tokens = 0;          // of one micro-batch of one rank, instead of `batch`; 0: not chosen
  PerEpoch<int> accumulate = 1;    // micro-batches in one step
  double curriculum = 0;           // epochs that begin with short samples
  std::int64_t group_lengths = 0;  // samples of similar length one after another; 0: none are
  std::string optimizer = "adamw";
  PerEpoch<double> lr = 0.0;        // 0: see default_learning_rate()
  std::string schedule = "linear";  // after the warm-up
  double end_lr = -1;               // this and the next ones, below 0: see make_schedule()
  double power = -1;
  SaveEvery decay_every = {.by = SaveBy::never};  // steps or epochs; never: not given
  double decay_factor = -1;
  std::int64_t cycle = 0;         // steps; 0: not given
  std::int64_t force_anneal = 0;  // from this epoch on (from 1) the rate stays; 0: never
  double warmup = 0.1;            // share of the steps
  double warmup_epochs = 0;       // instead of the share; 0: not given
  double weight_decay = 0.01;
  double beta1 = -1;  // this and the next ones, below 0: see optimizer_options()
  double beta2 = -1;
  double epsilon = -1;
  double momentum = -1;
  bool nesterov = false;
  double rho = -1;
  std::vector<std::string> freeze;  // parts of the model that stay as they are
  double layer_decay = 1;           // of the rate, from each layer to the one below
  SaveEvery unfreeze_every = {.by = SaveBy::never};  // each layer, from the top down
  double ema = 0;                                    // decay of the averaged weights; 0: none
  double swa_from = 0;  // share of the steps from which on weights are averaged; 0: never
  double clip = 1.0;    // the gradient's largest norm; 0: no clipping
  double dropout = -1;  // below 0: the model's own
  std::int64_t max_parameters = 0;  // a model with more is not trained; 0: any is
  DeviceChoice device = DeviceChoice::automatic;
  int gpu = -1;          // that choose_device() took, of those that this process sees; -1: the CPU
  std::string gpu_text;  // "NVIDIA H200 (140.4 GiB)"; empty: the CPU
  bool gpu_has_bf16 = false;  // instructions for it
  int idle_gpus = 0;          // that this process sees and no rank takes, if it is the only one
  Precision precision = Precision::fp32;
  DataType wire = DataType::f32;  // in which gradients travel between ranks
  LoraConfig lora;                // adapters to train; rank 0: none
  DistillOptions distill;
  bool error_feedback = false;  // what the wire's rounding takes is added to the next gradient
  double loss_scale = 0;        // first factor of the loss in backward passes; 0: none
  std::uint64_t seed = 1;
  std::int64_t data_seed = -1;  // below 0: see split_seed()
  std::int64_t eval_every = 0;  // steps between evaluations of dev; 0: at the end of each epoch
  EarlyStopOptions early_stop;
  std::int64_t check_gradients = 0;     // steps between comparisons of all ranks; 0: none
  bool detect_anomaly = false;          // examines each activation and gradient
  bool checkpoint_activations = false;  // backward passes compute activations again
  bool eval_first = false;              // evaluates before step 1, too
  std::int64_t overfit = 0;   // trains on so many samples and evaluates on the same; 0: on all
  bool fast_dev_run = false;  // two steps and small evaluations, of which nothing stays
  std::string best_metric;    // by which these are compared; empty: the first of the task's
  std::string run;            // the folder that the run writes; empty: runs/<data's name>
  std::string trace;          // a folder for timelines and records of each rank; empty: none
  std::string runs_db;        // an SQLite file with the results of runs; empty: none
  std::string tensorboard;    // a folder for event files; empty: none
  SaveEvery save_every;
  int keep = 2;                 // number of most recent checkpoints that stay
  int keep_best = 1;            // number of checkpoints with the best dev scores that stay
  std::int64_t keep_every = 0;  // a checkpoint of a multiple of so many steps stays; 0: no more
  bool optimizer_state = true;  // checkpoints have it
  FinalWeights final_weights = FinalWeights::last;
  std::string resume = "auto";  // or "never", or a checkpoint's or run's folder
  Resets reset;

  // Trials of a few steps.
  int measured_steps = 20;       // `estimate` and `scale`
  bool parameter_table = false;  // `estimate`: each layer alone, with the factor of its rate
  std::string hosts;             // of `scale`, as bprun's -H takes them; empty: this machine as two
  std::vector<std::string> worlds = {"1", "2"};

  // Evaluation.
  std::string source;           // the folder of a run, model or checkpoint; for `stop` of a run
  std::string scored;           // the folder of the model in `source`
  std::string scored_run;       // the run that it belongs to; empty: none
  bool whole = false;           // all of the file `data` is scored
  bool seen = false;            // the run was trained on a part of that file
  bool own = false;             // the run's own data is scored, as it was split for training
  bool store_is_typed = false;  // prepare.store is from the command line, not the run's
  std::string on;          // "train", "dev" or "test"; empty: test, or dev where there is no test
  std::string checkpoint;  // of the run in `source`: its name or folder; empty: the run's model
  std::string out;         // a file for predictions; empty: none, or standard output for `predict`;
                           // for `export`, the file of the model; for `estimate` a file, and
                           // for `scale` a folder, with the figures
  bool int8 = false;       // `export`: products of 8-bit integers
  OutFormat out_format = OutFormat::csv;
  OnError on_error = OnError::stop;  // `predict`

  // Reports.
  std::vector<std::string> sources;  // folders of runs, or a predictions.csv
  std::string sort = "name";         // of the list of runs
  std::string list_format = "text";

  std::vector<std::string> sweep;  // `sweep`: what bprun sweep gets before --

  std::shared_ptr<const ShardsOptions> shards;  // of the action `shards` alone

  std::string config;                  // a file with options, those of which are among these
  std::vector<std::string> arguments;  // as typed, to print them again; `sweep`: behind --
  // Every option of the action as text, with its origin, for config.yaml and the report.
  std::vector<Setting> settings;
};

// The seed by which the data is divided.
[[nodiscard]] inline std::uint64_t split_seed(const Options& options) {
  return options.data_seed < 0 ? options.seed : static_cast<std::uint64_t>(options.data_seed);
}

}  // namespace bp::trainer
