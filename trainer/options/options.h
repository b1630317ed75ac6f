// Holds what the user asks of training and of the commands that read its data. The defaults here
// are those that --help shows. Nothing changes an option after parsing: what a command decides
// later stands in RunSettings and JobData (trainer/share).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options/setting.h"
#include "bp/torch/shard.h"
#include "bp/torch/sync.h"
#include "bp/trainer/run.h"
#include "bp/types.h"
#include "trainer/batches/per_epoch.h"
#include "trainer/model/lora.h"
#include "trainer/model/passes/precision.h"
#include "trainer/options/interval.h"
#include "trainer/prepare/prepare.h"

namespace bp::trainer {

class TaskInput;  // trainer/tasks/task_input.h

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

// Of all commands about a model or its data.
struct TaskOptions {
  Extensions extensions;            // of the program, if it is not bert_train itself
  std::string task_name;            // a task of bert_train, or of the extensions
  std::shared_ptr<TaskInput> task;  // of that name, with its options
};

// Of the commands that read data.
struct DataOptions : TaskOptions {
  PrepareOptions prepare;       // `source` is DATA: a text file, or a store made from one
  bool stage = false;           // rank 0 sends its store to the hosts that lack it
  std::uint64_t seed = 1;       // and prepare.seed, unless there is a data_seed
  std::int64_t data_seed = -1;  // below 0: none
  std::string config;           // a file with options, those of which are among these
};

struct TrainOptions : DataOptions {
  std::string model = "tiny";    // a preset's name or a folder
  std::string family = "bert";   // of a preset (trainer/model/families/family.h)
  double epochs = 0;             // 0: see default_epochs()
  std::int64_t steps = 0;        // 0: those of the epochs
  int batch = 32;                // rows in one micro-batch of one rank
  bool fits_batch = false;       // --batch auto: `batch` is a rank's rows of a step
  std::int64_t total_batch = 0;  // rows of a step on all ranks; 0: as the other options say
  int max_tokens = 0;  // of one micro-batch of one rank, instead of `batch`; 0: not chosen
  PerEpoch<int> accumulate = 1;    // micro-batches in one step
  double curriculum = 0;           // epochs that begin with short samples
  std::int64_t group_lengths = 0;  // samples of similar length one after another; 0: none are
  std::string optimizer = "adamw";
  PerEpoch<double> lr = 0.0;        // 0: see default_learning_rate()
  std::string schedule = "linear";  // after the warm-up
  double end_lr = -1;               // this and the next ones, below 0: see make_schedule()
  double power = -1;
  std::optional<Interval> decay_every;      // in steps or epochs
  std::optional<Interval> schedule_length;  // the same; nothing: that of the run
  double decay_factor = -1;
  std::int64_t cycle = 0;         // steps; 0: not given
  std::int64_t force_anneal = 0;  // from this epoch on (from 1) the rate stays; 0: never
  double warmup = 0.1;            // share of the steps
  double warmup_epochs = 0;       // instead of the share; 0: not given
  std::int64_t warmup_steps = 0;  // the same
  double weight_decay = 0.01;
  double beta1 = -1;  // this and the next ones, below 0: see optimizer_options()
  double beta2 = -1;
  double epsilon = -1;
  double momentum = -1;
  bool nesterov = false;
  double rho = -1;
  std::vector<std::string> freeze;         // parts of the model that stay as they are
  double layer_decay = 1;                  // of the rate, from each layer to the one below
  std::optional<Interval> unfreeze_every;  // each layer, from the top down
  double ema = 0;                          // decay of the averaged weights; 0: none
  double swa_from = 0;  // share of the steps from which on weights are averaged; 0: never
  double clip = 1.0;    // the gradient's largest norm; 0: no clipping
  double dropout = -1;  // below 0: the model's own
  std::int64_t max_parameters = 0;  // a model with more is not trained; 0: any is
  DeviceChoice device = DeviceChoice::automatic;
  Precision precision = Precision::fp32;
  DataType wire = DataType::f32;       // in which gradients travel between ranks
  Shard shard = Shard::automatic;      // what the CPU ranks of a host divide
  std::string share = "weights";       // of rows: or equal, auto, or hosts: StepShares
  bool reduce_each = false;            // micro-batch
  Sync sync;                           // when hosts exchange what they learn
  std::string shard_shares = "equal";  // or auto, or hosts: shard_shares()
  LoraConfig lora;                     // adapters to train; rank 0: none
  DistillOptions distill;
  bool error_feedback = false;  // what the wire's rounding takes is added to the next gradient
  double loss_scale = 0;        // first factor of the loss in backward passes; 0: none
  Intervals eval_every = {Interval{}};  // of dev
  EarlyStopOptions early_stop;
  std::int64_t check_gradients = 0;     // steps between comparisons of all ranks; 0: none
  bool detect_anomaly = false;          // examines each activation and gradient
  bool checkpoint_activations = false;  // backward passes compute activations again
  bool eval_first = false;              // evaluates before step 1, too
  std::int64_t overfit = 0;    // trains on so many samples and evaluates on the same; 0: on all
  bool fast_dev_run = false;   // two steps and small evaluations, of which nothing stays
  std::string best_metric;     // by which these are compared; empty: the first of the task's
  std::string run;             // the folder that the run writes; empty: runs/<name of DATA>
  std::string trace;           // a folder for timelines and records of each rank; empty: none
  std::string runs_db;         // an SQLite file with the results of runs; empty: none
  std::string tensorboard;     // a folder for event files; empty: none
  std::int64_t log_every = 0;  // steps from a line of metrics.jsonl to the next; 0: some hundreds
  Intervals save_every = {Interval{}};
  int keep = 2;                 // number of most recent checkpoints that stay
  int keep_best = 1;            // number of checkpoints with the best dev scores that stay
  std::int64_t keep_every = 0;  // a checkpoint of a multiple of so many steps stays; 0: no more
  bool optimizer_state = true;  // checkpoints have it
  FinalWeights final_weights = FinalWeights::last;
  std::string resume = "auto";  // or "never", or a checkpoint's or run's folder
  Resets reset;

  std::vector<std::string> arguments;  // as typed, to print them again
  // Every option as text, with its origin, for config.yaml and the report.
  std::vector<Setting> settings;
};

// Where a rank computes; choose_device() says it.
struct RankDevice {
  int gpu = -1;           // of those that this process sees; -1: the CPU
  std::string text = {};  // "NVIDIA H200 (140.4 GiB)"; empty: the CPU
  bool has_bf16 = false;  // the GPU has instructions for it
  int idle_gpus = 0;      // that this process sees and no rank takes, if it is the only one
};

// What a run trains with: its options, in which all that they leave open is decided for its model,
// its data and its machines. `settings` has the same as text.
struct RunSettings : TrainOptions {
  RankDevice rank_device = {};
};

}  // namespace bp::trainer
