#include <algorithm>
#include <utility>

#include "base/text.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/commands/parse_options.h"
#include "trainer/commands/scale_worlds.h"
#include "trainer/data/input_error.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/schedule.h"

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
  choose_task(arguments, extensions, o);
  OptionSet set(command.command, command.about, command.footer);
  command.add_own(set, o);
  set.group("Options");
  set.path({"DATA",
            "A file (.csv, .tsv, .jsonl, or of the task), a folder of such files, or a store "
            "(.sqlite)"},
           o.data)
      .on_resume = OnResume::reason;
  add_data_options(set, o);
  add_case_option(set, o.prepare);
  add_rebuild_option(set, o.prepare);
  add_model_options(set, o);
  add_training_options(set, o);
  add_output_options(set, o);
  add_config_option(set, o);
  CommandLine line = parse(set, arguments, o);
  check_optimizer_options(line.options);
  check_schedule_options(line.options);
  if (line.options.max_tokens > 0 && set.given("batch")) {
    throw InputError(2, "--batch has no effect with --max-tokens, which decides the samples itself",
                     "leave out one of the two");
  }
  for (const auto& [option, value] : optimizer_settings(line.options)) {
    if (value_of(line.options.settings, option).empty()) {
      bp::set(line.options.settings, {option, value, "default"});
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

// The options about the files from which a store is prepared.
void add_files_options(OptionSet& set, Options& options) {
  set.path({"DATA", "A file (.csv, .tsv, .jsonl, or of the task), or a folder of such files"},
           options.data);
  add_data_options(set, options);
  add_case_option(set, options.prepare);
}

void mention_completion(OptionSet& set, Options& /*options*/) {
  set.mention({.name = "completion",
               .help = "Print the completion of a shell, bash, which is to source it",
               .value_name = "SHELL",
               .suggested = {"bash"}});
}

}  // namespace

CommandLine parse_train(const std::vector<std::string>& arguments,
                        const Extensions& extensions,
                        const std::string& footer) {
  return parse_training(arguments, extensions,
                        {Action::train, "bert_train", kTrainAbout, footer, mention_completion});
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
  choose_task(arguments, extensions, o);
  OptionSet set("bert_train prep",
                "Prepares the store of DATA: samples as token ids, ready to train on.", "");
  add_files_options(set, o);
  add_rebuild_option(set, o.prepare);
  add_split_seed_option(set, o);
  add_config_option(set, o);
  return parse(set, arguments, o);
}

CommandLine parse_check(const std::vector<std::string>& arguments, const Extensions& extensions) {
  Options o;
  o.action = Action::check;
  choose_task(arguments, extensions, o);
  OptionSet set("bert_train check",
                "Says what DATA holds (rows, answers, lengths, repeated texts) and what would\n"
                "keep bert_train from training on it, which makes the exit code 65. Writes\n"
                "nothing.",
                "");
  add_files_options(set, o);
  add_split_seed_option(set, o);
  add_config_option(set, o);
  return parse(set, arguments, o);
}

}  // namespace bp::trainer
