// Over 400 lines, so that the options of every command stand beside each other.
#include "trainer/commands/command_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "trainer/commands/evaluation_source.h"
#include "trainer/commands/option_groups.h"
#include "trainer/commands/program_help.h"
#include "trainer/commands/runs_options.h"
#include "trainer/commands/scale_worlds.h"
#include "trainer/commands/shards_options.h"
#include "trainer/commands/sweep_options.h"
#include "trainer/data/encoding.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/data/numbers.h"
#include "trainer/data/plan.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/schedule.h"
#include "trainer/options/duration.h"
#include "trainer/options/option_set.h"
#include "trainer/options/other_names.h"
#include "trainer/run/run_settings.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

const std::string kTrainAbout =
    "Trains a BERT on the texts of DATA to give their answers: labels, numbers, or\n"
    "what --task says. Writes the model, predictions and a report. Alone it is a job\n"
    "of one process; under bprun it trains on all ranks of the job.";
const std::string kEstimateAbout =
    "Trains for a few steps as the same command without `estimate` would, keeps nothing\n"
    "of them, and says what the run needs: parameters, memory, time and disk. Under\n"
    "bprun it measures all ranks of the job.";
const std::string kScaleAbout =
    "Runs `bert_train estimate` on several worlds, one after the other through bprun,\n"
    "and prints the time of a step, speed-up, expansion and the share of communication\n"
    "of each. The options of training are those of each world.";

// What follows the name of the program on the command line, and what --help says of it.
std::span<const Command> commands();

// 0.8,0.1,0.1, or without the last one, which is the rest.
std::array<double, 3> parse_split(const std::string& text) {
  const auto refuse = [&] {
    throw InputError(2, concat("--split: '", text, "' is not two or three shares"),
                     "the shares of train, dev and test: 0.8,0.1,0.1, or 0.8,0.1 with the rest for "
                     "test; or data, as DATA divides them");
  };
  std::array<double, 3> shares{};
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more; ++at) {
    if (count == shares.size()) refuse();
    const auto [stop, error] = std::from_chars(at, end, shares[count++]);
    if (error != std::errc() || (stop != end && *stop != ',')) refuse();
    more = stop != end;
    at = stop;
  }
  if (count < 2) refuse();
  constexpr double kDigits = 1e9;  // 1 - 0.8 - 0.1 is 0.1 to a person
  if (count == 2) shares[2] = std::round((1 - shares[0] - shares[1]) * kDigits) / kDigits;
  require_split(shares);
  return shares;
}

void use_split(bool given, const std::string& text, PrepareOptions& prepare) {
  if (text == kSplitOfData) {
    prepare.divider = Divider::data;
    return;
  }
  if (given) prepare.divider = Divider::shares;
  prepare.split = parse_split(text);
}

// The task decides which other options there are. Returns the one that is typed, in the file of
// --config, or, to score or predict, of the run that is an argument; else the default.
std::string task_in(const std::vector<std::string>& arguments, Action action) {
  if (std::string typed = typed_value(arguments, "task"); !typed.empty()) return typed;
  if (const std::string config = config_in(arguments); !config.empty()) {
    for (const ConfigValue& value : read_options(config)) {
      if (value.key == "task" && !value.value.empty()) return value.value;
    }
  }
  const bool of_run = action == Action::evaluate || action == Action::predict ||
                      action == Action::export_model || action == Action::merge;
  for (const std::string& argument : arguments) {
    if (!of_run || !folder_exists(argument)) continue;
    if (std::string task = task_of_run(argument); !task.empty()) return task;
  }
  return task_names().front();
}

double parse_target(const std::string& text) {
  const std::optional<double> number = number_of(text);
  if (number && std::isfinite(*number)) return *number;
  throw InputError(2, concat("--target-score: '", text, "' is not a number"),
                   "the score at which the run may end: --target-score 0.9");
}

std::chrono::seconds parse_max_time(const std::string& text) {
  if (const auto time = parse_duration(text)) return *time;
  throw InputError(2, concat("--max-time: '", text, "' is not a time"),
                   "whole numbers with d, h, m or s: 45s, 90m, 2h30m");
}

void choose_task(const std::vector<std::string>& arguments,
                 const Extensions& extensions,
                 Options& options) {
  options.extensions = extensions;
  options.task_name = task_in(arguments, options.action);
  options.task = make_input(options.task_name, extensions);
  options.prepare.task = options.task;
  options.prepare.max_length = options.task->usual_length();
}

// Sets `o` and `raw`, the targets of `set`.
CommandLine parse(OptionSet& set,
                  const std::vector<std::string>& arguments,
                  const RawOptions& raw,
                  Options& o) {
  if (const std::string config = config_in(arguments); !config.empty()) {
    set.preset(read_options(config), config);
  }
  if (std::string text = set.parse(arguments); !text.empty()) return {{}, std::move(text)};
  if (set.has("split")) {
    set.use("split", [&] { use_split(set.given("split"), raw.split, o.prepare); });
  }
  set.use("separator", [&] { o.prepare.separator = parse_separator(raw.separator); });
  if (!raw.betas.empty()) {
    set.use("betas", [&] { std::tie(o.beta1, o.beta2) = parse_betas(raw.betas); });
  }
  if (!raw.target.empty()) {
    set.use("target-score", [&] { o.early_stop.target = parse_target(raw.target); });
  }
  if (!raw.max_time.empty()) {
    set.use("max-time", [&] { o.early_stop.max_time = parse_max_time(raw.max_time); });
  }
  if (!raw.save_every.empty()) {
    set.use("save-every", [&] { o.save_every = parse_save_every(raw.save_every); });
  }
  if (!raw.unfreeze_every.empty()) {
    set.use("unfreeze-every", [&] { o.unfreeze_every = parse_unfreeze_every(raw.unfreeze_every); });
  }
  if (!raw.decay_every.empty()) {
    set.use("decay-every", [&] { o.decay_every = parse_decay_every(raw.decay_every); });
  }
  if (set.has("warmup")) {
    set.use("warmup", [&] {
      const Warmup warmup = parse_warmup(raw.warmup);
      o.warmup = warmup.share;
      o.warmup_epochs = warmup.epochs;
    });
  }
  set.use("encoding", [&] { o.prepare.encoding = parse_encoding(raw.encoding); });
  o.data = without_slashes(o.data);
  if (!o.prepare.more_sources.empty() && is_store(o.data)) {
    throw InputError(2, concat("--also adds the rows of files, and ", o.data, " is a store"),
                     "give the files that it came from, and name another store with --store");
  }
  o.stage = raw.stage;
  o.optimizer_state = !raw.no_optimizer_state;
  o.prepare.lower_case = !raw.cased;
  o.settings = set.settings();
  o.arguments = arguments;
  if (o.task != nullptr) o.task->use_data(o.data);
  return {std::move(o), ""};
}

// Throws for options about checkpoints that contradict each other.
void check_checkpoint_options(const Options& options) {
  if (options.save_every.by == SaveBy::never) {
    const std::pair<const char*, bool> about[] = {
        {"--final best", options.final_weights == FinalWeights::best},
        {"--keep-every", options.keep_every > 0},
        {"--no-optimizer-state", !options.optimizer_state}};
    for (const auto& [option, given] : about) {
      if (!given) continue;
      throw InputError(2, concat(option, " needs checkpoints, and --save-every none writes none"),
                       concat("leave out ", option, " or --save-every none"));
    }
  }
  if (options.error_feedback && options.save_every.by == SaveBy::time) {
    throw InputError(2,
                     "--save-every TIME does not go with --error-feedback, which drops remainders "
                     "with each checkpoint",
                     "save by steps or epochs, so that the run computes the same each time");
  }
}

// Throws for options on the command line that have no effect without `main`. A run's config.yaml,
// which --config may read, has all options.
void require_without(const Options& options,
                     const std::vector<std::string>& given,
                     const std::string& main) {
  for (const std::string& option : given) {
    const auto found = std::ranges::find(options.settings, option, &Setting::key);
    if (found == options.settings.end() || found->origin != "command line") continue;
    throw InputError(
        2, concat("--", option, " has no effect without ", main.substr(0, main.find(' '))),
        concat("add ", main, ", or leave out --", option));
  }
}

void check_efficiency_options(const Options& options) {
  if (options.lora.rank == 0) {
    require_without(options, {"lora-alpha", "lora-dropout", "lora-targets"}, "--lora 8");
  }
  const DistillOptions& distill = options.distill;
  if (distill.teacher.empty()) {
    require_without(options, {"distill-temperature", "distill-weight", "distill-hidden"},
                    "--teacher DIR");
  } else if (distill.weight == 0 && distill.hidden == 0) {
    throw InputError(2, "--teacher has no effect with --distill-weight 0 and no --distill-hidden",
                     "give one of them a weight, or leave out --teacher");
  } else if (distill.hidden > 0 && options.checkpoint_activations) {
    throw InputError(2,
                     "--distill-hidden needs the states of all layers, and "
                     "--checkpoint-activations does not keep them",
                     "leave out one of the two");
  }
}

// A command that has all options of training.
struct TrainingCommand {
  Action action;
  const char* command;
  const std::string& about;
  std::string footer;
  void (*add_own)(OptionSet& set, Options& options);
};

CommandLine parse_training(const std::vector<std::string>& arguments,
                           const Extensions& extensions,
                           const TrainingCommand& command) {
  Options o;
  o.action = command.action;
  RawOptions raw;
  choose_task(arguments, extensions, o);
  OptionSet set(command.command, command.about, command.footer);
  command.add_own(set, o);
  set.group("Options");
  set.path(
      {"DATA",
       "A file (.csv, .tsv, .jsonl, or of the task), a folder of such files, or a store (.sqlite)"},
      o.data);
  add_data_options(set, o, raw);
  add_case_option(set, raw);
  add_rebuild_option(set, o.prepare);
  add_model_options(set, o);
  add_training_options(set, o, raw);
  add_output_options(set, o, raw);
  add_config_option(set, raw);
  CommandLine line = parse(set, arguments, raw, o);
  check_optimizer_options(line.options);
  check_schedule_options(line.options);
  if (line.options.max_tokens > 0 && set.given("batch")) {
    throw InputError(2, "--batch has no effect with --max-tokens, which decides the samples itself",
                     "leave out one of the two");
  }
  for (const auto& [option, value] : optimizer_settings(line.options)) {
    if (value_of(line.options.settings, option).empty()) {
      trainer::set(line.options.settings, {option, value, "default"});
    }
  }
  check_checkpoint_options(line.options);
  check_efficiency_options(line.options);
  if (line.options.early_stop.min_improvement > 0 && line.options.early_stop.patience == 0) {
    throw InputError(2, "--min-improvement has no effect without --patience",
                     "add --patience 3, or leave out --min-improvement");
  }
  if (line.options.swa_from > 0 && line.options.ema > 0) {
    throw InputError(2, "--swa-from and --ema are two averages of the weights",
                     "leave out one of the two");
  }
  if (line.options.error_feedback && line.options.wire == DataType::f32) {
    throw InputError(2, "--error-feedback: gradients are not rounded for --wire fp32",
                     "add --wire bf16 or --wire fp16, or leave out --error-feedback");
  }
  return line;
}

void mention_completion(OptionSet& set, Options& /*options*/) {
  set.mention({.name = "completion",
               .help = "Print the completion of a shell, bash, which is to source it",
               .value_name = "SHELL",
               .suggested = {"bash"}});
}

CommandLine parse_train(const std::vector<std::string>& arguments, const Extensions& extensions) {
  return parse_training(
      arguments, extensions,
      {Action::train, "bert_train", kTrainAbout, commands_text(commands()), mention_completion});
}

CommandLine parse_estimate(const std::vector<std::string>& arguments,
                           const Extensions& extensions) {
  return parse_training(
      arguments, extensions,
      {Action::estimate, "bert_train estimate", kEstimateAbout, "", add_estimate_options});
}

CommandLine parse_scale(const std::vector<std::string>& arguments, const Extensions& extensions) {
  std::vector<std::string> words = arguments;
  std::ranges::replace(words, std::string("-H"), std::string("--hosts"));  // as bprun has it
  CommandLine line = parse_training(
      words, extensions, {Action::scale, "bert_train scale", kScaleAbout, "", add_scale_options});
  for (const std::string& world : line.options.worlds) {
    (void)hosts_of_world(world, line.options.hosts);
  }
  return line;
}

CommandLine parse_prepare(const std::vector<std::string>& arguments, const Extensions& extensions) {
  Options o;
  o.action = Action::prepare;
  RawOptions raw;
  choose_task(arguments, extensions, o);
  OptionSet set("bert_train prep",
                "Prepares the store of DATA: samples as token ids, ready to train on.", "");
  set.path({"DATA", "A file (.csv, .tsv, .jsonl, or of the task), or a folder of such files"},
           o.data);
  add_data_options(set, o, raw);
  add_case_option(set, raw);
  add_rebuild_option(set, o.prepare);
  set.number({"seed", "Seed of the split"}, o.seed, 0, 9e18);
  add_config_option(set, raw);
  return parse(set, arguments, raw, o);
}

CommandLine parse_check(const std::vector<std::string>& arguments, const Extensions& extensions) {
  Options o;
  o.action = Action::check;
  RawOptions raw;
  choose_task(arguments, extensions, o);
  OptionSet set("bert_train check",
                "Says what DATA holds (rows, answers, lengths, repeated texts) and what would\n"
                "keep bert_train from training on it, which makes the exit code 65. Writes\n"
                "nothing.",
                "");
  set.path({"DATA", "A file (.csv, .tsv, .jsonl, or of the task), or a folder of such files"},
           o.data);
  add_data_options(set, o, raw);
  add_case_option(set, raw);
  set.number({"seed", "Seed of the split"}, o.seed, 0, 9e18);
  add_config_option(set, raw);
  return parse(set, arguments, raw, o);
}

CommandLine parse_evaluate(const std::vector<std::string>& arguments,
                           const Extensions& extensions) {
  Options o;
  o.action = Action::evaluate;
  RawOptions raw;
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
  add_data_options(set, o, raw);
  set.number({"seed", "Seed of the split"}, o.seed, 0, 9e18);
  return parse(set, arguments, raw, o);
}

CommandLine parse_predict(const std::vector<std::string>& arguments, const Extensions& extensions) {
  Options o;
  o.action = Action::predict;
  RawOptions raw;
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
  set.choice<PredictionFormat>(
      {"out-format", "Format of the predictions"}, o.out_format,
      {{"csv", PredictionFormat::csv}, {"jsonl", PredictionFormat::jsonl}});
  set.text({"on",
            "Split of a store to predict",
            "test, or dev where there is no test",
            "train|dev|test",
            {"train", "dev", "test"}},
           o.on);
  set.text({"checkpoint", "Checkpoint of RUN: best, latest, step-N, or a folder",
            "RUN's model, or latest without one", "NAME"},
           o.checkpoint);
  add_reading_options(set, o, raw);
  return parse(set, arguments, raw, o);
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
  set.text({"task", "What the model was trained for", "that of RUN, or classify", "NAME"},
           o.task_name);
  set.text({"checkpoint", "Checkpoint of RUN: best, latest, step-N, or a folder",
            "RUN's model, or latest without one", "NAME"},
           o.checkpoint);
  CommandLine line = parse(set, arguments, {}, o);
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
  set.text({"task", "What the model was trained for", "that of RUN, or classify", "NAME"},
           o.task_name);
  set.text({"checkpoint", "Checkpoint of RUN: best, latest, step-N, or a folder",
            "RUN's model, or latest without one", "NAME"},
           o.checkpoint);
  CommandLine line = parse(set, arguments, {}, o);
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
      parse_train({value_of(read_settings(config), "data"), "--config", config}, extensions);
  line.options.action = Action::replay;
  line.options.data.clear();
  line.options.source = folder;
  line.options.settings = set.settings();
  line.options.arguments = arguments;
  return line;
}

// The first parse finds the run. The second one has the run's options before those of the command
// line, which win.
template <auto Parse>
CommandLine parse_with_run(const std::vector<std::string>& arguments,
                           const Extensions& extensions) {
  CommandLine line = Parse(arguments, extensions);
  if (!line.instead.empty()) return line;
  const EvaluationPlan plan = plan_evaluation(line.options);
  const bool store_is_typed = !line.options.prepare.store.empty();
  std::vector<std::string> all = plan.arguments;
  all.insert(all.end(), arguments.begin(), arguments.end());
  line = Parse(all, extensions);
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

// A command whose options do not depend on the extensions.
template <auto Parse>
CommandLine parse_alone(const std::vector<std::string>& arguments, const Extensions& /*none*/) {
  return Parse(arguments);
}

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"", "DATA", "train", parse_train},
      Command{"prep", "DATA", "prepare the store only", parse_prepare},
      Command{"check", "DATA", "say what DATA holds, and what is wrong with it", parse_check},
      Command{"estimate", "DATA", "say what a run needs, from a few steps", parse_estimate},
      Command{"scale", "DATA", "measure how training scales over hosts and ranks", parse_scale},
      Command{"sweep", "SPACE -- DATA", "train with many options, on many hosts", parse_sweep},
      Command{"eval", "RUN DATA", "score a trained model again", parse_with_run<parse_evaluate>},
      Command{"predict", "RUN DATA", "write a trained model's predictions",
              parse_with_run<parse_predict>},
      Command{"export", "RUN", "write a trained model for onnxruntime", parse_export},
      Command{"merge", "RUN", "make a whole model of adapters and their base", parse_merge},
      Command{"shards", "TEXT...", "make shards to pre-train on from plain text",
              parse_alone<parse_shards>},
      Command{"replay", "FOLDER", "compute a step that failed again", parse_replay},
      Command{"stop", "RUN", "ask the run in RUN to save and end", parse_alone<parse_stop>},
      Command{"report", "RUN...", "show the scores of a run, or compare runs",
              parse_alone<parse_report>},
      Command{"runs", "FOLDER", "list the runs in FOLDER", parse_alone<parse_runs>}};
  return kCommands;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments,
                               const Extensions& extensions) {
  if (std::string text = program_help(arguments, commands(), extensions); !text.empty()) {
    return {{}, std::move(text)};
  }
  const std::string first = arguments.empty() ? "" : arguments.front();
  for (const Command& command : commands().subspan(1)) {
    if (first != command.name) continue;
    return command.parse({arguments.begin() + 1, arguments.end()}, extensions);
  }
  if (const std::string hint = hint_for_command(first); !hint.empty()) {
    throw InputError(2, concat("'", first, "' is neither a file nor a command"), hint);
  }
  return parse_train(arguments, extensions);
}

void set(std::vector<Setting>& settings, const Setting& setting) {
  const auto same = std::find_if(settings.begin(), settings.end(),
                                 [&](const Setting& s) { return s.key == setting.key; });
  if (same == settings.end()) {
    settings.push_back(setting);
  } else {
    *same = setting;
  }
}

}  // namespace bp::trainer
