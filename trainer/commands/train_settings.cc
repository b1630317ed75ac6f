#include "trainer/commands/train_settings.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "trainer/commands/command_line.h"
#include "trainer/commands/option_groups.h"
#include "trainer/data/input_error.h"
#include "trainer/data/plan.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"
#include "trainer/run/run_folder.h"
#include "trainer/train/sweep_metric.h"

namespace bp::trainer {
namespace {

// Adapters need a higher learning rate than the weights beside them (docs/bert_train.md).
constexpr double kAdapterRate = 10;

// A value for an epoch that the run does not reach has no effect.
void check_lists(const Options& options) {
  if (options.steps > 0) return;
  const auto epochs = static_cast<std::size_t>(std::ceil(options.epochs));
  for (const auto& [option, count] :
       {std::pair("--lr", options.lr.values().size()),
        std::pair("--accumulate", options.accumulate.values().size())}) {
    if (count <= epochs) continue;
    throw InputError(2, concat(option, " has ", count, " values, and the run ", epochs, " epochs"),
                     "give one value for each epoch, of which the last holds for all later ones");
  }
  if (options.force_anneal > static_cast<std::int64_t>(epochs)) {
    throw InputError(2,
                     concat("--force-anneal ", options.force_anneal, " has no effect: the run has ",
                            epochs, " epochs"),
                     "give an earlier epoch, or more --epochs");
  }
}

void check_warmup(const Options& options) {
  if (options.steps > 0 || options.warmup_epochs <= options.epochs) return;
  throw InputError(
      2,
      concat("--warmup ", options.warmup_epochs, "e is longer than the run, which has ",
             options.epochs, options.epochs == 1 ? " epoch" : " epochs"),
      "give a shorter --warmup, or more --epochs");
}

// A sweep scores a trial by its best evaluation of dev, so the trial's model has those weights.
bool keeps_best_of_sweep(const Options& options, const RunFacts& run) {
  const auto chosen = std::ranges::find(options.settings, "final", &Setting::key);
  return chosen != options.settings.end() && chosen->origin == "default" &&
         dev_score_of_sweep() == run.metric.key && options.save_every.by != SaveBy::never &&
         run.store.size(run.evaluated) > 0;
}

// An option that compares evaluations of dev needs that split.
void require_dev(const RunFacts& run, const std::string& option) {
  if (run.store.size(run.evaluated) > 0) return;
  throw InputError(
      2, concat(option, " compares scores of the dev split, which is empty"),
      concat("give dev samples with --dev FILE or a share with --split, or leave out ", option));
}

}  // namespace

void shorten(Options& options) {
  options.steps = 2;
  options.eval_every = 0;
  options.save_every = {.by = SaveBy::never};
  options.final_weights = FinalWeights::last;
  options.early_stop = {};
  options.resume = "never";
}

void take_metric_of_sweep(Options& options, const std::vector<MainScore>& metrics) {
  const std::string score = dev_score_of_sweep();
  if (!options.best_metric.empty() || std::ranges::count(metrics, score, &MainScore::key) == 0) {
    return;
  }
  options.best_metric = score;
}

void check_max_tokens(const Options& options, const std::vector<std::int32_t>& lengths) {
  const std::int32_t longest = lengths.empty() ? 0 : std::ranges::max(lengths);
  if (options.max_tokens == 0 || longest <= options.max_tokens) return;
  throw InputError(2,
                   concat("--max-tokens ", options.max_tokens, ": a sample has ", longest,
                          " tokens, with [CLS] and [SEP]"),
                   concat("give at least ", longest, ", or a smaller --max-length"));
}

void decide_settings(Options& options, const RunFacts& run) {
  const BertConfig& config = run.config;
  const auto decide = [&](const std::string& key, const std::string& value) {
    set(options.settings, {key, value, "default"});
  };
  if (options.lr.first() == 0) {
    options.lr = default_learning_rate(config.hidden, run.pretrained) *
                 (options.lora.rank > 0 ? kAdapterRate : 1);
    decide("lr", concat(options.lr.first()));
    check_schedule_options(options);
  }
  if (options.epochs == 0) {
    options.epochs = default_epochs(run.pretrained);
    decide("epochs", concat(options.epochs));
  }
  if (options.loss_scale == 0) {
    options.loss_scale = default_loss_scale(options.precision);
    decide("loss-scale", options.loss_scale > 0 ? concat(options.loss_scale) : "");
  }
  check_lists(options);
  check_warmup(options);
  decide("best-metric", run.metric.key);
  if (keeps_best_of_sweep(options, run)) {
    options.final_weights = FinalWeights::best;
    decide("final", "best");
  }
  if (options.final_weights == FinalWeights::best) require_dev(run, "--final best");
  if (options.eval_first) require_dev(run, "--eval-first");
  if (options.early_stop.patience > 0) require_dev(run, "--patience");
  if (options.early_stop.target) require_dev(run, "--target-score");
  if (options.dropout < 0) decide("dropout", concat(config.hidden_dropout));
  if (options.run == default_run(options.data)) decide("run", options.run);
  if (is_divided_by_data(run.store.fingerprint())) decide("split", kSplitOfData);
  decide("data-seed", concat(split_seed(options)));
  if (options.steps == 0) decide("steps", "");
  if (options.eval_every == 0) decide("eval-every", "");
}

void note_store(Options& options, const std::string& path) {
  PrepareOptions usual = options.prepare;
  usual.source = options.data;
  if (options.data_is_store || path == store_path(usual)) return;
  set(options.settings, {"store", path, "default"});
}

}  // namespace bp::trainer
