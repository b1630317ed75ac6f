#include <utility>

#include "base/text.h"
#include "trainer/commands/evaluation_source.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/commands/parse_options.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/run/run_settings.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

void add_checkpoint_option(OptionSet& set, Options& options) {
  set.text({"checkpoint", "Checkpoint of RUN: best, latest, step-N, or a folder",
            "RUN's model, or latest without one", "NAME"},
           options.checkpoint);
}

void add_task_of_run_option(OptionSet& set, Options& options) {
  set.text({"task", "What the model was trained for", "that of RUN, or classify", "NAME"},
           options.task_name);
}

using Presets = std::vector<ConfigValue>;

CommandLine parse_evaluate_once(const std::vector<std::string>& arguments,
                                const Extensions& extensions,
                                const Presets& of_run) {
  Options o;
  o.action = Action::evaluate;
  choose_task(arguments, extensions, o);
  OptionSet set("bert_train eval",
                "Scores a trained model: a run on its own test split, or any model on all of a\n"
                "file. Any number of ranks gives the same numbers and predictions. It reads a\n"
                "file as the run read its own, with the model's vocabulary, and writes nothing\n"
                "beside the file.",
                "");
  set.path({"RUN", "A run's folder, one of its checkpoints, or any model's folder"}, o.source);
  set.optional_path(
      {"DATA", "A file or folder, which is scored whole, or a store; default: the data of the run"},
      o.data);
  add_evaluate_options(set, o);
  add_data_options(set, o);
  add_split_seed_option(set, o);
  set.preset(of_run, "the run");
  return parse(set, arguments, o);
}

CommandLine parse_predict_once(const std::vector<std::string>& arguments,
                               const Extensions& extensions,
                               const Presets& of_run) {
  Options o;
  o.action = Action::predict;
  choose_task(arguments, extensions, o);
  OptionSet set("bert_train predict",
                "Writes a trained model's prediction for each sample of DATA, which needs no\n"
                "answers. It reads a file as the run read its own. The numbers are those of\n"
                "bert_train eval.",
                "");
  set.path({"RUN", "A run's folder, one of its checkpoints, or any model's folder"}, o.source);
  set.path({"DATA",
            "A file or folder, a store, or - for standard input: one text a line, or JSON lines"},
           o.data);
  set.group("Prediction");
  set.path({"out", "File for the predictions", "standard output", "FILE"}, o.out);
  set.choice<OutFormat>(
      {"out-format", "Format of the predictions; kaggle: that of the competition on GAP"},
      o.out_format,
      {{"csv", OutFormat::csv}, {"jsonl", OutFormat::jsonl}, {"kaggle", OutFormat::kaggle}});
  set.choice<OnError>({"on-error", "End at a bad row, or write an empty prediction and go on"},
                      o.on_error, {{"stop", OnError::stop}, {"skip", OnError::skip}});
  set.text({"on",
            "Split of a store to predict",
            "test, or dev where there is no test",
            "train|dev|test",
            {"train", "dev", "test"}},
           o.on);
  add_checkpoint_option(set, o);
  add_computing_options(set, o);
  add_reading_options(set, o);
  set.preset(of_run, "the run");
  return parse(set, arguments, o);
}

// The first parse finds the run. The second one has the run's options where the command line has
// none.
template <auto Parse>
CommandLine parse_with_run(const std::vector<std::string>& arguments,
                           const Extensions& extensions) {
  CommandLine line = Parse(arguments, extensions, {});
  if (!line.instead.empty()) return line;
  const EvaluationPlan plan = plan_evaluation(line.options);
  const bool store_is_typed = !line.options.prepare.store.empty();
  line = Parse(arguments, extensions, plan.presets);
  Options& options = line.options;
  options.data = plan.data;
  options.task->use_data(options.data);
  options.scored = plan.source.model;
  options.scored_run = plan.source.run;
  options.own = plan.own;
  options.whole = plan.whole;
  options.seen = plan.seen;
  options.store_is_typed = store_is_typed;
  return line;
}

}  // namespace

CommandLine parse_evaluate(const std::vector<std::string>& arguments,
                           const Extensions& extensions) {
  return parse_with_run<parse_evaluate_once>(arguments, extensions);
}

CommandLine parse_predict(const std::vector<std::string>& arguments, const Extensions& extensions) {
  return parse_with_run<parse_predict_once>(arguments, extensions);
}

CommandLine parse_export(const std::vector<std::string>& arguments, const Extensions& extensions) {
  Options o;
  o.action = Action::export_model;
  choose_task(arguments, extensions, o);
  OptionSet set("bert_train export",
                "Writes a trained model as an ONNX file, for onnxruntime and other programs.\n"
                "It computes the logits of bert_train predict. With --int8 it is a quarter of the\n"
                "size, and its numbers differ a little.",
                "");
  set.path({"RUN", "A run's folder, one of its checkpoints, or any model's folder"}, o.source);
  set.path({"out", "The file to write", "model.onnx", "FILE"}, o.out);
  set.flag({"int8", "Multiply 8-bit integers (dynamic quantization)"}, o.int8);
  add_task_of_run_option(set, o);
  add_checkpoint_option(set, o);
  CommandLine line = parse(set, arguments, o);
  if (!line.instead.empty()) return line;
  if (line.options.out.empty()) line.options.out = "model.onnx";
  line.options.scored = find_evaluation_source(line.options.source, line.options.checkpoint).model;
  return line;
}

CommandLine parse_merge(const std::vector<std::string>& arguments, const Extensions& extensions) {
  Options o;
  o.action = Action::merge;
  choose_task(arguments, extensions, o);
  OptionSet set(
      "bert_train merge",
      "Adds the adapters of a model that was trained with --lora to its base, and writes\n"
      "the sum as a Hugging Face folder, which needs neither any more. RUN may be a\n"
      "folder of PEFT's, too.",
      "");
  set.path({"RUN", "A run's folder, one of its checkpoints, or a folder of adapters"}, o.source);
  set.path({"out", "The folder to write, a new one; required", "", "DIR"}, o.out);
  add_task_of_run_option(set, o);
  add_checkpoint_option(set, o);
  CommandLine line = parse(set, arguments, o);
  if (!line.instead.empty()) return line;
  if (line.options.out.empty()) {
    throw InputError(2, "--out is missing: the folder to write", "bert_train merge RUN --out DIR");
  }
  line.options.scored = find_evaluation_source(line.options.source, line.options.checkpoint).model;
  return line;
}

// The folder of the step has the options of its run.
CommandLine parse_replay(const std::vector<std::string>& arguments, const Extensions& extensions) {
  Options typed;
  OptionSet set("bert_train replay",
                "Computes a training step that failed again, in one process, from RUN/bug/step-N.\n"
                "Names the first value that is not finite. Writes nothing.",
                "");
  set.path({"FOLDER", "RUN/bug/step-N, which bert_train wrote when the step failed"}, typed.source);
  if (std::string text = set.parse(arguments); !text.empty()) return {{}, std::move(text)};
  const std::string folder = without_slashes(typed.source);
  const std::string config = folder + "/config.yaml";
  if (!path_exists(config)) {
    throw InputError(66,
                     concat(folder,
                            " is not the folder of a step that failed: it has no "
                            "config.yaml"),
                     "bert_train names the folder when a step fails: RUN/bug/step-N");
  }
  CommandLine line =
      parse_train({value_of(read_settings(config), "data"), "--config", config}, extensions, "");
  line.options.action = Action::replay;
  line.options.data.clear();
  line.options.distill.teacher = path_of_run(folder + "/../..", line.options.distill.teacher);
  line.options.source = folder;
  line.options.settings = set.settings();
  line.options.arguments = arguments;
  return line;
}

}  // namespace bp::trainer
