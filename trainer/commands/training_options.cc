#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/commands/scale_worlds.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/schedule.h"
#include "trainer/train/loop/host_shares.h"

namespace bp::trainer {
namespace {

// Returns the option that asks for error feedback.
const char* error_feedback_of(const TrainOptions& options) {
  return options.wire == DataType::i8 ? "--wire int8" : "--error-feedback";
}

using Given = std::pair<std::string, bool>;  // an option, and whether it is given

// Throws for the first one that is given: it does not go with `other`, because it ... `why`.
void refuse_beside(const std::string& other,
                   const std::string& why,
                   std::initializer_list<Given> options) {
  for (const auto& [option, given] : options) {
    if (!given) continue;
    throw InputError(2, concat(option, " ", why), concat("leave out ", option, " or ", other));
  }
}

// Throws for options about checkpoints and evaluations that contradict each other.
void check_checkpoint_options(const TrainOptions& options) {
  if (options.save_every.empty()) {
    refuse_beside("--save-every none", "needs checkpoints, and --save-every none writes none",
                  {{"--final best", options.final_weights == FinalWeights::best},
                   {"--keep-every", options.keep_every > 0},
                   {"--no-optimizer-state", !options.optimizer_state}});
  }
  if (options.eval_every.empty()) {
    refuse_beside("--eval-every none", "needs evaluations, and --eval-every none makes none",
                  {{"--final best", options.final_weights == FinalWeights::best},
                   {"--patience", options.early_stop.patience > 0},
                   {"--target-score", options.early_stop.target.has_value()},
                   {"--best-metric", !options.best_metric.empty()}});
  }
  const bool saves_by_time =
      std::ranges::count(options.save_every, IntervalBy::time, &Interval::by) > 0;
  if (options.error_feedback && saves_by_time) {
    throw InputError(2,
                     concat("--save-every TIME does not go with ", error_feedback_of(options),
                            ", which drops remainders with each checkpoint"),
                     "save by steps or epochs, so that the run computes the same each time");
  }
}

void check_distillation(const TrainOptions& options) {
  const DistillOptions& distill = options.distill;
  if (distill.teacher.empty()) return;
  if (distill.weight == 0 && distill.hidden == 0) {
    throw InputError(2, "--teacher has no effect with --distill-weight 0 and no --distill-hidden",
                     "give one of them a weight, or leave out --teacher");
  }
  if (distill.hidden > 0 && options.checkpoint_activations) {
    throw InputError(2,
                     "--distill-hidden needs the states of all layers, and "
                     "--checkpoint-activations does not keep them",
                     "leave out one of the two");
  }
}

// With rounds, a host's steps are its own.
void check_sync(const TrainOptions& o) {
  if (o.sync.is_each_step()) return;
  refuse_beside("--sync",
                "is about each step of all hosts, and with --sync they exchange weights only after "
                "several",
                {{concat("--shard ", name_of(o.shard)), divides_among_hosts(o.shard)},
                 {"--share auto", o.share == "auto"},
                 {"--error-feedback", o.error_feedback},
                 {"--check-gradients", o.check_gradients > 0},
                 {"--detect-anomaly", o.detect_anomaly}});
  if (o.sync.interval.count() == 0 && o.sync.fragments > o.sync.every) {
    throw InputError(2,
                     concat("--sync-fragments ", o.sync.fragments, " with --sync ", o.sync.every,
                            ": each part has a step of its own"),
                     concat("--sync-fragments ", o.sync.every, " or fewer"));
  }
  const bool are_common = !o.sync.late && o.sync.fragments == 1;
  if (!are_common && (o.ema > 0 || o.swa_from > 0)) {
    throw InputError(2,
                     concat(o.ema > 0 ? "--ema" : "--swa-from",
                            " averages weights that all hosts have, and with ",
                            o.sync.late ? "--sync-late" : "--sync-fragments",
                            " they have such only when they save"),
                     "leave out one of the two");
  }
}

// Parses what follows the options of a command's own, which are already in `set`: those of
// training. Returns what parse() returns.
std::string parse_training(OptionSet& set,
                           const std::vector<std::string>& arguments,
                           const Extensions& extensions,
                           TrainOptions& o) {
  choose_task(arguments, extensions, false, o);
  set.group("Options");
  set.path({"DATA",
            "A file (.csv, .tsv, .jsonl, or of the task), a folder of such files, or a store "
            "(.sqlite)"},
           o.prepare.source)
      .on_resume = OnResume::reason;
  add_data_options(set, o);
  add_case_option(set, o.prepare);
  add_rebuild_option(set, o.prepare);
  add_model_options(set, o);
  add_training_options(set, o);
  add_output_options(set, o);
  add_config_option(set, o);
  if (std::string text = parse(set, arguments, o); !text.empty()) return text;
  o.arguments = arguments;
  o.settings = set.settings();
  for (Setting& setting : o.settings) {
    if (setting.key == "data") setting.value = o.prepare.source;
  }
  if (o.wire == DataType::i8 && o.sync.is_each_step()) o.error_feedback = true;
  check_optimizer_options(o);
  check_schedule_options(o);
  if (o.max_tokens > 0 && set.given("batch")) {
    throw InputError(2, "--batch has no effect with --max-tokens, which decides the samples itself",
                     "leave out one of the two");
  }
  if (o.fits_batch && o.total_batch == 0) {
    throw InputError(2, "--batch auto needs the number of samples of a step",
                     "add --total-batch N");
  }
  const char* const other = set.given("accumulate") ? "--accumulate"
                            : o.max_tokens > 0      ? "--max-tokens"
                                                    : nullptr;
  if (o.total_batch > 0 && other != nullptr) {
    throw InputError(2, concat("--total-batch and ", other, " both decide the samples of a step"),
                     "leave out one of the two");
  }
  for (const auto& [option, value] : optimizer_settings(o)) {
    if (value_of(o.settings, option).empty()) bp::set(o.settings, {option, value, "default"});
  }
  check_checkpoint_options(o);
  check_distillation(o);
  if (o.swa_from > 0 && o.ema > 0) {
    throw InputError(2, "--swa-from and --ema are two averages of the weights",
                     "leave out one of the two");
  }
  const bool divides = o.shard != Shard::none && o.shard != Shard::automatic;
  if (o.check_gradients > 0 && divides) {
    throw InputError(2,
                     concat("--check-gradients compares gradients that all ranks have, and with "
                            "--shard ",
                            name_of(o.shard), " each has its own part"),
                     "leave out one of the two");
  }
  if (o.error_feedback && frees_gradients(o.shard)) {
    throw InputError(2,
                     concat(error_feedback_of(o), " keeps each rank's gradient, which --shard ",
                            name_of(o.shard), " frees"),
                     "say --shard optimizer, or leave out one of the two");
  }
  const char* const reader = o.ema > 0          ? "--ema"
                             : o.swa_from > 0   ? "--swa-from"
                             : o.detect_anomaly ? "--detect-anomaly"
                             : !o.trace.empty() ? "--trace"
                                                : nullptr;
  if (o.shard == Shard::parameters && reader != nullptr) {
    throw InputError(2,
                     concat(reader,
                            " reads all weights after each step, and with --shard "
                            "parameters a host has a part of them"),
                     "say --shard gradients, or leave out one of the two");
  }
  if (o.reduce_each && o.wire != DataType::f32) {
    throw InputError(
        2, "--reduce-each: a narrow --wire would round the sums of each micro-batch again",
        "leave out one of the two");
  }
  if (o.check_gradients > 0) o.shard = Shard::none;
  if (o.shard_shares != "equal" && o.shard_shares != "auto") {
    (void)parse_host_shares("--shard-shares", o.shard_shares);
  }
  if (o.share != "equal" && o.share != "auto" && o.share != "weights") {
    (void)parse_host_shares("--share", o.share);
  }
  check_sync(o);
  if (o.error_feedback && o.wire == DataType::f32) {
    throw InputError(2, "--error-feedback: gradients are not rounded for --wire fp32",
                     "add --wire bf16, fp16 or int8, or leave out --error-feedback");
  }
  return "";
}

// Parses the options about the files from which a store is prepared.
std::string parse_files(OptionSet& set,
                        const std::vector<std::string>& arguments,
                        const Extensions& extensions,
                        bool rebuilds,
                        DataOptions& o) {
  choose_task(arguments, extensions, false, o);
  set.path({"DATA", "A file (.csv, .tsv, .jsonl, or of the task), or a folder of such files"},
           o.prepare.source);
  add_data_options(set, o);
  add_case_option(set, o.prepare);
  if (rebuilds) add_rebuild_option(set, o.prepare);
  add_split_seed_option(set, o);
  add_config_option(set, o);
  return parse(set, arguments, o);
}

constexpr const char* kSweepExample =
    "bert_train sweep space.yaml -n 4 -- reviews.csv --text review --label stars";

std::string sweep_help(const HelpRequest& request) {
  std::string space;
  OptionSet set("bert_train sweep",
                "Trains many times with different options, on the slots of many hosts:\n"
                "bprun sweep SPACE [OPTIONS] -- bert_train DATA [OPTIONS]. The metric is the dev\n"
                "score of the task, unless SPACE names another one.\n\n"
                "Write -- and then what a single training would have: DATA and options.",
                concat("Example:\n  ", kSweepExample,
                       "\n\nbprun sweep --help lists the options between SPACE and --.\n"));
  set.path({"SPACE", "The parameters and how to search them (docs/sweep.md)"}, space);
  return set.parse({request.topic == "json" ? "--help=json" : "--help"});
}

}  // namespace

CommandLine parse_train(const std::vector<std::string>& arguments,
                        const Extensions& extensions,
                        const std::string& footer) {
  TrainOptions o;
  OptionSet set("bert_train",
                "Trains a BERT on the texts of DATA to give their answers: labels, numbers, or\n"
                "what --task says. Writes the model, predictions and a report. Alone it is a job\n"
                "of one process; under bprun it trains on all ranks of the job.",
                footer);
  set.mention({.name = "completion",
               .help = "Print the completion of a shell, bash, which is to source it",
               .value_name = "SHELL",
               .suggested = {"bash"}});
  std::string text = parse_training(set, arguments, extensions, o);
  return {std::move(o), std::move(text)};
}

CommandLine parse_estimate(const std::vector<std::string>& arguments,
                           const Extensions& extensions) {
  EstimateOptions o;
  OptionSet set(
      "bert_train estimate",
      "Trains for a few steps as the same command without `estimate` would, keeps nothing\n"
      "of them, and says what the run needs: parameters, memory, time and disk. Under\n"
      "bprun it measures all ranks of the job.");
  set.group("Estimate");
  set.number({"measured-steps", "Steps to measure, after a few to warm up"}, o.measured_steps, 1,
             1e6);
  set.flag({"parameter-table", "List each part of the model with the factor of its rate"},
           o.parameter_table);
  set.path({"out", "JSON file for the figures", "none", "FILE"}, o.out).others = {"predictions"};
  std::string text = parse_training(set, arguments, extensions, o);
  return {std::move(o), std::move(text)};
}

CommandLine parse_scale(const std::vector<std::string>& arguments, const Extensions& extensions) {
  ScaleOptions o;
  OptionSet set(
      "bert_train scale",
      "Runs `bert_train estimate` on several worlds, one after the other through bprun,\n"
      "and prints the time of a step, speed-up, expansion and the share of communication\n"
      "of each. The options of training are those of each world.");
  set.group("Scale");
  set.text(
      {"hosts", "Hosts for bprun -H, in the order of --worlds", "this machine, twice", "HOST,..."},
      o.hosts);
  set.list({"worlds", "Ranks of each world, on one host, or as 3+1 on two", "1,2"}, o.worlds);
  set.number({"measured-steps", "Steps to measure in each world, after a few to warm up"},
             o.measured_steps, 1, 1e6);
  set.path({"out", "Folder for scaling.csv and scaling.html", "none", "DIR"}, o.out).others = {
      "predictions"};
  std::vector<std::string> words = arguments;
  std::ranges::replace(words, std::string("-H"), std::string("--hosts"));  // as bprun has it
  std::string text = parse_training(set, words, extensions, o.training);
  for (const std::string& world : o.worlds) (void)hosts_of_world(world, o.hosts);
  return {std::move(o), std::move(text)};
}

CommandLine parse_prepare(const std::vector<std::string>& arguments, const Extensions& extensions) {
  PrepOptions o;
  OptionSet set("bert_train prep",
                "Prepares the store of DATA: samples as token ids, ready to train on.");
  std::string text = parse_files(set, arguments, extensions, true, o);
  return {std::move(o), std::move(text)};
}

CommandLine parse_check(const std::vector<std::string>& arguments, const Extensions& extensions) {
  CheckOptions o;
  OptionSet set("bert_train check",
                "Says what DATA holds (rows, answers, lengths, repeated texts) and what would\n"
                "keep bert_train from training on it, which makes the exit code 65. Writes\n"
                "nothing.");
  std::string text = parse_files(set, arguments, extensions, false, o);
  return {std::move(o), std::move(text)};
}

CommandLine parse_sweep(const std::vector<std::string>& arguments, const Extensions& extensions) {
  if (const HelpRequest request = help_in(arguments); request.asked) {
    return {{}, sweep_help(request)};
  }
  const auto end = std::ranges::find(arguments, "--");
  if (end == arguments.begin()) {
    throw InputError(2, "SPACE is missing: a YAML file with the parameters to try", kSweepExample);
  }
  if (end == arguments.end() || end + 1 == arguments.end()) {
    throw InputError(2, "-- and DATA are missing behind the options of the sweep", kSweepExample);
  }
  const std::vector<std::string> training(end + 1, arguments.end());
  CommandLine line = parse_command_line(training, extensions);
  if (!line.instead.empty()) return line;
  auto* const options = std::get_if<TrainOptions>(&line.options);
  if (options == nullptr) {
    throw InputError(2, concat("a sweep trains: ", training.front(), " cannot stand behind --"),
                     kSweepExample);
  }
  return {SweepOptions{std::move(*options), {arguments.begin(), end}}, ""};
}

}  // namespace bp::trainer
