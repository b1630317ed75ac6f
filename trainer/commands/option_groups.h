// The options of bert_train's commands, in the groups that --help shows. Each function adds a
// group, or one option, whose targets must live until the set is parsed.
#pragma once

#include <string>

#include "base/options/option_set.h"
#include "trainer/options/options.h"

namespace bp::trainer {

// The value of --split that leaves it to the file.
inline constexpr const char* kSplitOfData = "data";

// What the model learns, and how to read its data.
void add_reading_options(OptionSet& set, Options& options);
// These, and what becomes of the rows of a file.
void add_data_options(OptionSet& set, Options& options);
void add_case_option(OptionSet& set, PrepareOptions& prepare);
void add_split_seed_option(OptionSet& set, Options& options);
void add_rebuild_option(OptionSet& set, PrepareOptions& prepare);
void add_device_option(OptionSet& set, Options& options);
// Where and in which numbers eval and predict compute.
void add_computing_options(OptionSet& set, Options& options);
void add_model_options(OptionSet& set, Options& options);
void add_early_stop_options(OptionSet& set, EarlyStopOptions& options);
void add_training_options(OptionSet& set, Options& options);
void add_output_options(OptionSet& set, Options& options);
void add_config_option(OptionSet& set, Options& options);
void add_estimate_options(OptionSet& set, Options& options);
void add_scale_options(OptionSet& set, Options& options);
void add_evaluate_options(OptionSet& set, Options& options);

}  // namespace bp::trainer
