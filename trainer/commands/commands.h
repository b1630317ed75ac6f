// The commands of bert_train: what each is asked to do, and run_command(), which does it. All ranks
// call it, and it returns the exit code. Rank 0 writes the files and prints. A command that is
// asked to stop throws Interrupted if it has nothing to save.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "bp/communicator.h"
#include "trainer/commands/evaluation_source.h"
#include "trainer/options/options.h"
#include "trainer/tasks/pretrain/make_instances.h"

namespace bp::trainer {

struct PrepOptions : DataOptions {};

struct CheckOptions : DataOptions {};

struct EstimateOptions : TrainOptions {
  int measured_steps = 20;
  bool parameter_table = false;  // each layer alone, with the factor of its rate
  std::string out;               // a file for the figures; empty: none
};

struct ScaleOptions {
  TrainOptions training;
  std::string hosts;  // as bprun's -H takes them; empty: this machine as two
  std::vector<std::string> worlds = {"1", "2"};
  int measured_steps = 20;
  std::string out;  // a folder for the figures; empty: none
};

struct SweepOptions {
  TrainOptions training;           // its arguments are those behind --
  std::vector<std::string> words;  // what bprun sweep gets before --
};

// Of the commands that write a model in another form.
struct ConvertOptions : TaskOptions {
  std::string source;      // the folder of a run, model or checkpoint
  std::string checkpoint;  // of the run in `source`: its name or folder; empty: the run's model
  std::string out;
  std::string model;  // the folder of the model in `source`
};

struct ExportOptions : ConvertOptions {
  bool int8 = false;  // products of 8-bit integers
};

struct MergeOptions : ConvertOptions {};

// What is asked of shards, files of instances to pre-train on.
struct ShardsOptions {
  TextSource source;
  std::string vocabulary;
  bool lower_case = true;
  InstanceOptions instances = {.masks = MaskOptions{.share = 0.15, .dynamic = false}};
  std::string out;                // the folder to make
  std::string name = "training";  // of the shards, before their number
  std::int64_t rows = 1'000'000;  // of one shard
};

struct ReplayOptions {
  TrainOptions training;  // of the run
  std::string folder;     // of the step that failed
};

struct StopOptions {
  std::string run;
};

struct ReportOptions {
  std::vector<std::string> sources;  // folders of runs, or a predictions.csv
  bool parameter_table = false;
  std::string out;  // a file for the page; empty: none
};

struct RunsOptions {
  std::string folder = "runs";
  std::string sort = "name";
  std::string format = "text";
};

using AnyOptions = std::variant<TrainOptions,
                                PrepOptions,
                                CheckOptions,
                                EstimateOptions,
                                ScaleOptions,
                                SweepOptions,
                                EvaluateOptions,
                                PredictOptions,
                                ExportOptions,
                                MergeOptions,
                                ShardsOptions,
                                ReplayOptions,
                                StopOptions,
                                ReportOptions,
                                RunsOptions>;

int run_command(Communicator& world, const TrainOptions& options);
int run_command(Communicator& world, const PrepOptions& options);
int run_command(Communicator& world, const CheckOptions& options);
int run_command(Communicator& world, const EstimateOptions& options);
int run_command(Communicator& world, const ScaleOptions& options);
int run_command(Communicator& world, const EvaluateOptions& options);
int run_command(Communicator& world, const PredictOptions& options);
int run_command(Communicator& world, const ExportOptions& options);
int run_command(Communicator& world, const MergeOptions& options);
int run_command(Communicator& world, const ShardsOptions& options);
int run_command(Communicator& world, const ReplayOptions& options);
int run_command(Communicator& world, const StopOptions& options);
int run_command(Communicator& world, const ReportOptions& options);
int run_command(Communicator& world, const RunsOptions& options);

// Becomes bprun sweep, so it does not return. Needs no world. Throws InputError.
int run_command(const SweepOptions& options);

}  // namespace bp::trainer
