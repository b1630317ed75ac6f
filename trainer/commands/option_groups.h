// The options of bert_train's commands, in the groups that --help shows. Each function adds a
// group, or one option, whose targets must live until the set is parsed.
#pragma once

#include <string>

#include "trainer/options/option_set.h"
#include "trainer/options/options.h"

namespace bp::trainer {

// The value of --split that leaves it to the file.
inline constexpr const char* kSplitOfData = "data";

// Values as typed, of options that Options holds in another form.
struct RawOptions {
  std::string split = "0.8,0.1,0.1";
  std::string separator = "auto";
  std::string encoding = "auto";
  bool stage = false;
  bool cased = false;
  std::string betas;
  std::string target;
  std::string max_time;
  std::string save_every;
  std::string unfreeze_every;
  std::string decay_every;
  std::string warmup = "0.1";
  bool no_optimizer_state = false;
  std::string config;
};

// What the model learns, and how to read its data.
void add_reading_options(OptionSet& set, Options& options, RawOptions& raw);
// These, and what becomes of the rows of a file.
void add_data_options(OptionSet& set, Options& options, RawOptions& raw);
void add_case_option(OptionSet& set, RawOptions& raw);
void add_split_seed_option(OptionSet& set, Options& options);
void add_rebuild_option(OptionSet& set, PrepareOptions& prepare);
void add_device_option(OptionSet& set, Options& options);
// Where and in which numbers eval and predict compute.
void add_computing_options(OptionSet& set, Options& options);
void add_model_options(OptionSet& set, Options& options);
void add_early_stop_options(OptionSet& set, EarlyStopOptions& options, RawOptions& raw);
void add_training_options(OptionSet& set, Options& options, RawOptions& raw);
void add_output_options(OptionSet& set, Options& options, RawOptions& raw);
void add_config_option(OptionSet& set, RawOptions& raw);
void add_estimate_options(OptionSet& set, Options& options);
void add_scale_options(OptionSet& set, Options& options);
void add_evaluate_options(OptionSet& set, Options& options);

}  // namespace bp::trainer
