#include <type_traits>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/common/look_up.h"
#include "trainer/run/run_settings.h"

namespace bp::trainer {
namespace {

constexpr const char* kRunHelp = "A run's folder, one of its checkpoints, or any model's folder";

void add_on_option(OptionSet& set, const std::string& help, EvaluateOptions& o) {
  set.text({"on",
            help,
            "test, or dev where there is no test",
            "train|dev|test",
            {"train", "dev", "test"}},
           o.on);
}

void add_checkpoint_option(OptionSet& set, const std::string& help, std::string& checkpoint) {
  set.text({"checkpoint", help, "RUN's model, or latest without one", "NAME"}, checkpoint);
}

void add_evaluate_options(OptionSet& set, EvaluateOptions& o) {
  set.path({"RUN", kRunHelp}, o.source);
  set.optional_path(
      {"DATA", "A file or folder, which is scored whole, or a store; default: the data of the run"},
      o.prepare.source);
  set.group("Evaluation");
  add_on_option(set, "Split of the run's data or of a store to score", o);
  add_checkpoint_option(set, "Checkpoint of RUN to score: best, latest, step-N, or a folder",
                        o.checkpoint);
  set.path({"out", "File for predictions", "none", "FILE"}, o.out).others = {"predictions"};
  add_computing_options(set, o);
  add_data_options(set, o);
  add_split_seed_option(set, o);
}

void add_predict_options(OptionSet& set, PredictOptions& o) {
  set.path({"RUN", kRunHelp}, o.source);
  set.path({"DATA",
            "A file or folder, a store, or - for standard input: one text a line, or JSON lines"},
           o.prepare.source);
  set.group("Prediction");
  set.path({"out", "File for the predictions", "standard output", "FILE"}, o.out);
  set.choice<OutFormat>(
      {"out-format", "Format of the predictions; kaggle: that of the competition on GAP"},
      o.out_format,
      {{"csv", OutFormat::csv}, {"jsonl", OutFormat::jsonl}, {"kaggle", OutFormat::kaggle}});
  set.choice<OnError>({"on-error", "End at a bad row, or write an empty prediction and go on"},
                      o.on_error, {{"stop", OnError::stop}, {"skip", OnError::skip}});
  add_on_option(set, "Split of a store to predict", o);
  add_checkpoint_option(set, "Checkpoint of RUN: best, latest, step-N, or a folder", o.checkpoint);
  add_computing_options(set, o);
  add_reading_options(set, o);
}

// The first parse finds the run. The second one has the run's options where the command line has
// none.
template <class Command>
CommandLine parse_with_run(const std::vector<std::string>& arguments,
                           const Extensions& extensions,
                           const char* command,
                           const char* about,
                           void (*add_options)(OptionSet&, Command&)) {
  Command typed;
  choose_task(arguments, extensions, true, typed);
  OptionSet alone(command, about);
  add_options(alone, typed);
  if (std::string text = parse(alone, arguments, typed); !text.empty()) return {{}, text};
  Command o;
  o.plan = plan_evaluation(typed, alone, std::is_same_v<Command, PredictOptions>);
  choose_task(arguments, extensions, true, o);
  OptionSet set(command, about);
  add_options(set, o);
  set.preset(o.plan.presets, "the run");
  std::string text = parse(set, arguments, o);
  return {std::move(o), std::move(text)};
}

// Parses the options of a command that writes a model in another form. Returns what parse()
// returns.
std::string parse_converted(OptionSet& set,
                            const std::vector<std::string>& arguments,
                            ConvertOptions& o) {
  set.text({"task", "What the model was trained for", "that of RUN, or classify", "NAME"},
           o.task_name);
  add_checkpoint_option(set, "Checkpoint of RUN: best, latest, step-N, or a folder", o.checkpoint);
  if (std::string text = parse(set, arguments); !text.empty()) return text;
  if (o.out.empty()) {
    throw InputError(2, "--out is missing: the folder to write", "bert_train merge RUN --out DIR");
  }
  o.model = find_evaluation_source(o.source, o.checkpoint).model;
  return "";
}

}  // namespace

CommandLine parse_evaluate(const std::vector<std::string>& arguments,
                           const Extensions& extensions) {
  return parse_with_run(
      arguments, extensions, "bert_train eval",
      "Scores a trained model: a run on its own test split, or any model on all of a\n"
      "file. Any number of ranks gives the same numbers and predictions. It reads a\n"
      "file as the run read its own, with the model's vocabulary, and writes nothing\n"
      "beside the file.",
      add_evaluate_options);
}

CommandLine parse_predict(const std::vector<std::string>& arguments, const Extensions& extensions) {
  return parse_with_run(
      arguments, extensions, "bert_train predict",
      "Writes a trained model's prediction for each sample of DATA, which needs no\n"
      "answers. It reads a file as the run read its own. The numbers are those of\n"
      "bert_train eval.",
      add_predict_options);
}

CommandLine parse_export(const std::vector<std::string>& arguments, const Extensions& extensions) {
  ExportOptions o;
  o.out = "model.onnx";
  choose_task(arguments, extensions, true, o);
  OptionSet set("bert_train export",
                "Writes a trained model as an ONNX file, for onnxruntime and other programs.\n"
                "It computes the logits of bert_train predict. With --int8 it is a quarter of the\n"
                "size, and its numbers differ a little.");
  set.path({"RUN", kRunHelp}, o.source);
  set.path({.name = "out", .help = "The file to write", .value_name = "FILE"}, o.out);
  set.flag({"int8", "Multiply 8-bit integers (dynamic quantization)"}, o.int8);
  std::string text = parse_converted(set, arguments, o);
  return {std::move(o), std::move(text)};
}

CommandLine parse_merge(const std::vector<std::string>& arguments, const Extensions& extensions) {
  MergeOptions o;
  choose_task(arguments, extensions, true, o);
  OptionSet set(
      "bert_train merge",
      "Adds the adapters of a model that was trained with --lora to its base, and writes\n"
      "the sum as a Hugging Face folder, which needs neither any more. RUN may be a\n"
      "folder of PEFT's, too.");
  set.path({"RUN", "A run's folder, one of its checkpoints, or a folder of adapters"}, o.source);
  set.path({"out", "The folder to write, a new one; required", "", "DIR"}, o.out);
  std::string text = parse_converted(set, arguments, o);
  return {std::move(o), std::move(text)};
}

// The folder of the step has the options of its run.
CommandLine parse_replay(const std::vector<std::string>& arguments, const Extensions& extensions) {
  ReplayOptions o;
  OptionSet set("bert_train replay",
                "Computes a training step that failed again, in one process, from RUN/bug/step-N.\n"
                "Names the first value that is not finite. Writes nothing.");
  set.path({"FOLDER", "RUN/bug/step-N, which bert_train wrote when the step failed"}, o.folder);
  if (std::string text = set.parse(arguments); !text.empty()) return {{}, text};
  o.folder = without_slashes(o.folder);
  const std::string config = o.folder + "/config.yaml";
  if (!path_exists(config)) {
    throw InputError(66,
                     concat(o.folder,
                            " is not the folder of a step that failed: it has no "
                            "config.yaml"),
                     "bert_train names the folder when a step fails: RUN/bug/step-N");
  }
  CommandLine line =
      parse_train({value_of(read_settings(config), "data"), "--config", config}, extensions, "");
  o.training = std::get<TrainOptions>(std::move(line.options));
  return {std::move(o), ""};
}

}  // namespace bp::trainer
