// The command lines of bert_train's commands, each parsed from what follows the command's name, and
// the options that several of them have.
#pragma once

#include <string>
#include <vector>

#include "base/options/option_set.h"
#include "trainer/commands/command_line.h"

namespace bp::trainer {

// All throw InputError (2, or 66 if a model does not exist).
using ParseCommand = CommandLine(const std::vector<std::string>& arguments,
                                 const Extensions& extensions);
ParseCommand parse_estimate, parse_scale, parse_prepare, parse_check;
// SPACE.yaml and options of bprun sweep, then -- and the command line of a training. The training's
// options become those of the result, so that its task is known.
ParseCommand parse_sweep;
// The options of the run that trained the model come before those in `arguments`, which win.
ParseCommand parse_evaluate, parse_predict, parse_export, parse_merge, parse_replay;
ParseCommand parse_shards, parse_report, parse_runs, parse_stop;
// `footer` is the end of the help text.
[[nodiscard]] CommandLine parse_train(const std::vector<std::string>& arguments,
                                      const Extensions& extensions,
                                      const std::string& footer);

// Sets the task of `options`, which decides which other options there are, and `extensions`. The
// task is the one that is typed, or in the file of --config, or, for a command about a trained
// model (`of_run`), of the run that is an argument; else the default.
void choose_task(const std::vector<std::string>& arguments,
                 const Extensions& extensions,
                 bool of_run,
                 TaskOptions& options);
void choose_task(const std::vector<std::string>& arguments,
                 const Extensions& extensions,
                 bool of_run,
                 DataOptions& options);

// Parses `arguments` with `set`. Options in the file of --config come before those in `arguments`.
// Returns what set.parse() returns. Throws InputError (2).
[[nodiscard]] std::string parse(OptionSet& set, const std::vector<std::string>& arguments);
// The same for a set whose targets are `options`.
[[nodiscard]] std::string parse(OptionSet& set,
                                const std::vector<std::string>& arguments,
                                DataOptions& options);

// Each of these adds a group, or one option, whose targets must live until the set is parsed.

// The value of --split that leaves it to the file.
inline constexpr const char* kSplitOfData = "data";

// What the model learns, and how to read its data.
void add_reading_options(OptionSet& set, DataOptions& options);
// These, and what becomes of the rows of a file.
void add_data_options(OptionSet& set, DataOptions& options);
void add_case_option(OptionSet& set, PrepareOptions& prepare);
void add_split_seed_option(OptionSet& set, DataOptions& options);
void add_rebuild_option(OptionSet& set, PrepareOptions& prepare);
// Where and in which numbers eval and predict compute.
void add_computing_options(OptionSet& set, EvaluateOptions& options);
void add_model_options(OptionSet& set, TrainOptions& options);
void add_training_options(OptionSet& set, TrainOptions& options);
void add_output_options(OptionSet& set, TrainOptions& options);
void add_config_option(OptionSet& set, DataOptions& options);

}  // namespace bp::trainer
