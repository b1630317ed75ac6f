#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/nearest.h"
#include "base/text.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/results.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/data/stop_signals.h"
#include "trainer/share/evaluation_data.h"
#include "trainer/tasks/write_predictions.h"
#include "trainer/train/evaluate.h"

namespace bp::trainer {
namespace {

Split chosen_split(const std::string& name, const SampleStore& store) {
  if (name.empty()) {
    return judged_split(store).value_or(Split::train);
  }
  for (const Split split : {Split::train, Split::dev, Split::test}) {
    if (name != name_of(split)) continue;
    if (store.size(split) > 0) return split;
    throw InputError(65, concat("the data has no ", name, " samples"),
                     "choose another split with --on");
  }
  throw InputError(2, concat("--on: '", name, "' is none of train|dev|test"),
                   concat("did you mean '", nearest_name(name, {"train", "dev", "test"}), "'?"));
}

// The error comes before hours of scoring, not after them.
void require_writable(const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path parent = fs::path(file).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const char* problem = nullptr;
  if (!folder_exists(folder)) {
    problem = "its folder does not exist";
  } else if (folder_exists(file)) {
    problem = "it is a folder";
  } else if (::access(folder.c_str(), W_OK) != 0) {
    problem = "you may not write into its folder";
  }
  if (problem == nullptr) return;
  throw InputError(2, concat("--out: cannot write ", file, ": ", problem),
                   "name a file in a folder that exists and that you may write to");
}

}  // namespace

int run_evaluate(Communicator& world, const Options& options) {
  const auto say = [&](const std::string& text) {
    if (world.rank() == 0) print_line(text);
  };
  if (world.rank() == 0 && !options.out.empty()) require_writable(options.out);
  const ModelSource source = find_model(options.scored, *options.task);
  const auto model = load_model(source);
  Options on_data = options;
  on_data.prepare.lower_case = source.tokenizer.lower_case;
  if (options.whole) {
    on_data.prepare.scored = true;
    (void)options.task->score_by(model->config());
  }
  const SampleStore store = open_evaluation_data(world, on_data, say);
  check_samples(store, source);
  const Split split = chosen_split(options.on, store);
  const std::string name = options.whole ? options.data : name_of(split);
  if (options.seen) {
    say(concat("note: ", options.scored_run, " was trained on a part of ", name,
               "; without DATA its own test split is scored"));
  }
  const auto scorer = source.task->make_scorer(store, split, model->config());
  if (!evaluate(world, *model, store, split, *scorer)) {
    say(concat("stopped on request while scoring ", name, "; nothing was written"));
    return stop_exit_code();
  }
  if (world.rank() != 0) return 0;
  if (!options.out.empty()) write_predictions(options.out, store, split, *scorer);
  print_results(*scorer, name, options.out);
  if (!options.out.empty()) print_line("predictions  " + options.out);
  return 0;
}

}  // namespace bp::trainer
