#include "trainer/commands/evaluation_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "trainer/common/look_up.h"
#include "trainer/common/text_list.h"
#include "trainer/prepare/plan.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_settings.h"
#include "trainer/tasks/task_input.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || fs::equivalent(a, b, error);
}

// Returns the run whose model or checkpoint is in `folder`, or "".
std::string run_around(const std::string& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error) return "";
  const bool checkpoint = real.parent_path().filename() == "checkpoints";
  if (!checkpoint && real.filename() != "model") return "";
  const fs::path around = checkpoint ? real.parent_path().parent_path() : real.parent_path();
  const std::string run = fs::proximate(around, error).string();
  try {
    return !error && !value_of(read_run_settings(run), "data").empty() ? run : "";
  } catch (const InputError&) {
    return "";  // another program's config.yaml
  }
}

// "it has best, latest, step-30 and step-60", or the nearest name.
std::string hint_for_checkpoint(const std::string& checkpoint, const std::string& checkpoints) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.')) names.push_back(name);
  }
  if (names.empty()) return "the run has no checkpoint; leave out --checkpoint to score its model";
  if (const std::string nearest = nearest_name(checkpoint, names); !nearest.empty()) {
    return concat("did you mean '", nearest, "'?");
  }
  std::ranges::sort(names);
  const std::string last = names.back();
  names.pop_back();
  return concat("it has ", list_of(names, ", "), names.empty() ? "" : " and ", last);
}

// Returns the folder of a checkpoint of the run `source`.
std::string checkpoint_of(const std::string& source, const std::string& checkpoint) {
  if (!path_exists(source + "/config.yaml")) {
    throw InputError(2, concat("--checkpoint: ", source, " is not a run's folder"),
                     "bert_train eval RUN --checkpoint best; without --checkpoint, RUN may be any "
                     "model's folder");
  }
  const std::string checkpoints = source + "/checkpoints";
  for (const std::string& folder : {concat(checkpoints, "/", checkpoint), checkpoint}) {
    if (path_exists(folder + "/config.json")) return folder;
  }
  throw InputError(2, concat("--checkpoint: ", source, " has no checkpoint '", checkpoint, "'"),
                   hint_for_checkpoint(checkpoint, checkpoints));
}

}  // namespace

EvaluationSource find_evaluation_source(const std::string& source, const std::string& checkpoint) {
  if (!checkpoint.empty()) return {checkpoint_of(source, checkpoint), source};
  const std::string model = model_folder(source);
  if (model != source) return {model, path_exists(source + "/config.yaml") ? source : ""};
  return {model, run_around(source)};
}

std::string task_of_run(const std::string& source) {
  const std::string run = path_exists(source + "/config.yaml") ? source : run_around(source);
  return run.empty() ? "" : value_of(read_run_settings(run), "task");
}

EvaluationPlan plan_evaluation(const EvaluateOptions& typed, const OptionSet& set, bool predicts) {
  EvaluationPlan plan{find_evaluation_source(typed.source, typed.checkpoint)};
  const std::vector<Setting> settings = read_run_settings(plan.source.run);
  const std::string run_data = value_of(settings, "data");
  const std::string& data = typed.prepare.source.empty() ? run_data : typed.prepare.source;
  if (data.empty()) {
    throw InputError(2, concat("DATA is missing, and ", typed.source, " names none"),
                     "bert_train eval RUN DATA");
  }
  plan.own =
      !predicts && (typed.prepare.source.empty() || (set.given("on") && same_file(data, run_data)));
  const bool divided = set.given("split") || set.given("dev") || set.given("test");
  plan.whole = !plan.own && !divided && !is_store(data);
  plan.seen = plan.whole && same_file(data, run_data);
  plan.store_is_typed = set.given("store");
  if (plan.whole && set.given("on")) {
    throw InputError(2, concat("--on chooses a split, but all of ", data, " is scored"),
                     predicts ? "leave out --on"
                     : plan.source.run.empty()
                         ? "leave out --on, or divide the file with --split"
                         : "leave out --on; or leave out DATA to score a split of the run's data");
  }

  const auto pass = [&](const std::string& key, const std::string& value) {
    plan.presets.push_back({.key = key, .value = value, .place = ""});
  };
  pass("data", data);
  // How to read a file, and for the run's own data what else decides the samples. Otherwise all of
  // a file is scored.
  std::vector<std::string> keys = {"task",     "format",     "separator", "header",
                                   "encoding", "max-length", "long-text"};
  if (plan.own) {
    keys.insert(keys.end(), {"also", "dev", "test", "split", "limit", "store", "seed", "data-seed",
                             "dedupe", "stratify"});
  }
  OptionSet of_task("", "", "");
  typed.task->add_options(of_task);
  for (const Option& option : of_task.options()) keys.push_back(option.name);
  for (const std::string& key : keys) {
    const std::string value = value_of(settings, key);
    // Lines of standard input are not a table, whatever the run's file was.
    if (key != "format" || data != "-" || value == "jsonl") pass(key, value);
  }
  const std::string vocabulary = find_vocabulary(plan.source.model);
  if (!vocabulary.empty()) pass("vocab", vocabulary);
  return plan;
}

}  // namespace bp::trainer
