#include "trainer/commands/train_settings.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"
#include "trainer/prepare/fingerprint.h"
#include "trainer/prepare/plan.h"
#include "trainer/run/run_folder.h"
#include "trainer/train/loop/sweep_metric.h"

namespace bp::trainer {
namespace {

// Adapters need a higher learning rate than the weights beside them (docs/bert_train.md).
constexpr double kAdapterRate = 10;

// A value for an epoch that the run does not reach has no effect.
void check_lists(const RunSettings& settings) {
  if (settings.steps > 0) return;
  const auto epochs = static_cast<std::size_t>(std::ceil(settings.epochs));
  for (const auto& [option, count] :
       {std::pair("--lr", settings.lr.values().size()),
        std::pair("--accumulate", settings.accumulate.values().size())}) {
    if (count <= epochs) continue;
    throw InputError(2, concat(option, " has ", count, " values, and the run ", epochs, " epochs"),
                     "give one value for each epoch, of which the last holds for all later ones");
  }
  if (settings.force_anneal > static_cast<std::int64_t>(epochs)) {
    throw InputError(2,
                     concat("--force-anneal ", settings.force_anneal,
                            " has no effect: the run has ", epochs, " epochs"),
                     "give an earlier epoch, or more --epochs");
  }
}

void check_warmup(const RunSettings& settings) {
  if (settings.steps > 0 && settings.warmup_steps >= settings.steps) {
    throw InputError(2,
                     concat("--warmup ", settings.warmup_steps,
                            " is not shorter than the run, which has ", settings.steps, " steps"),
                     "give a shorter --warmup, or more --steps");
  }
  if (settings.steps > 0 || settings.warmup_epochs <= settings.epochs) return;
  throw InputError(
      2,
      concat("--warmup ", settings.warmup_epochs, "e is longer than the run, which has ",
             settings.epochs, settings.epochs == 1 ? " epoch" : " epochs"),
      "give a shorter --warmup, or more --epochs");
}

// A sweep scores a trial by its best evaluation of dev, so the trial's model has those weights.
bool keeps_best_of_sweep(const RunSettings& settings, const RunFacts& run) {
  const auto chosen = std::ranges::find(settings.settings, "final", &Setting::key);
  return chosen != settings.settings.end() && chosen->origin == "default" &&
         dev_score_of_sweep() == run.metric.key && !settings.save_every.empty() &&
         !settings.eval_every.empty() && run.store.size(run.evaluated) > 0;
}

// An option that compares evaluations of dev needs that split.
void require_dev(const RunFacts& run, const std::string& option) {
  if (run.store.size(run.evaluated) > 0) return;
  throw InputError(
      2, concat(option, " compares scores of the dev split, which is empty"),
      concat("give dev samples with --dev FILE or a share with --split, or leave out ", option));
}

}  // namespace

void shorten(RunSettings& settings) {
  settings.steps = 2;
  settings.eval_every = {Interval{}};
  settings.save_every = {};
  settings.final_weights = FinalWeights::last;
  settings.early_stop = {};
  settings.resume = "never";
}

void take_metric_of_sweep(RunSettings& settings, const std::vector<MainScore>& metrics) {
  const std::string score = dev_score_of_sweep();
  if (!settings.best_metric.empty() || std::ranges::count(metrics, score, &MainScore::key) == 0) {
    return;
  }
  settings.best_metric = score;
}

void check_max_tokens(const RunSettings& settings, const std::vector<std::int32_t>& lengths) {
  const std::int32_t longest = lengths.empty() ? 0 : std::ranges::max(lengths);
  if (settings.max_tokens == 0 || longest <= settings.max_tokens) return;
  throw InputError(2,
                   concat("--max-tokens ", settings.max_tokens, ": a sample has ", longest,
                          " tokens, with [CLS] and [SEP]"),
                   concat("give at least ", longest, ", or a smaller --max-length"));
}

void decide_settings(RunSettings& settings, const RunFacts& run) {
  const EncoderSpec& config = run.config;
  const auto decide = [&](const std::string& key, const std::string& value) {
    set(settings.settings, {key, value, "default"});
  };
  if (settings.lr.first() == 0) {
    settings.lr = default_learning_rate(config.hidden, run.pretrained) *
                  (settings.lora.rank > 0 ? kAdapterRate : 1);
    decide("lr", concat(settings.lr.first()));
    check_schedule_options(settings);
  }
  if (settings.epochs == 0) {
    settings.epochs = default_epochs(run.pretrained);
    decide("epochs", concat(settings.epochs));
  }
  if (settings.loss_scale == 0) {
    settings.loss_scale = default_loss_scale(settings.precision);
    decide("loss-scale", settings.loss_scale > 0 ? concat(settings.loss_scale) : "");
  }
  check_lists(settings);
  check_warmup(settings);
  decide("best-metric", run.metric.key);
  if (keeps_best_of_sweep(settings, run)) {
    settings.final_weights = FinalWeights::best;
    decide("final", "best");
  }
  if (settings.final_weights == FinalWeights::best) require_dev(run, "--final best");
  if (settings.eval_first) require_dev(run, "--eval-first");
  if (settings.early_stop.patience > 0) require_dev(run, "--patience");
  if (settings.early_stop.target) require_dev(run, "--target-score");
  if (settings.dropout < 0) decide("dropout", concat(config.hidden_dropout));
  if (settings.run == default_run(settings.prepare.source)) decide("run", settings.run);
  if (is_divided_by_data(run.store.fingerprint())) decide("split", kSplitOfData);
  decide("data-seed", concat(settings.prepare.seed));
  if (settings.steps == 0) decide("steps", "");
}

void note_store(RunSettings& settings, const JobData& data, const std::string& path) {
  if (data.is_store || path == store_path(data.prepare)) return;
  set(settings.settings, {"store", path, "default"});
}

}  // namespace bp::trainer
