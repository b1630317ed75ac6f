// The options that several commands have. Longer than 400 lines, because it is one table: a row for
// each option.
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/common/numbers.h"
#include "trainer/common/text_list.h"
#include "trainer/input/encoding.h"
#include "trainer/input/shown_names.h"
#include "trainer/model/config.h"
#include "trainer/model/families/family.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/schedule.h"
#include "trainer/options/sync_option.h"
#include "trainer/prepare/plan.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

void add_precision_option(OptionSet& set, const char* of, Precision& precision) {
  set.choice<Precision>({"precision", of}, precision,
                        {{"fp32", Precision::fp32},
                         {"fp16", Precision::fp16},
                         {"bf16", Precision::bf16},
                         {"auto", Precision::automatic}})
      .others = {"bf16=bf16", "fp16=fp16", "use-native-fp16=fp16", "use-amp=fp16", "half=fp16"};
}

constexpr double kFewestEpochs = 0.001;
constexpr double kSmallestDecay = 0.001;

std::vector<std::string> model_names(const Extensions& extensions) {
  std::vector<std::string> names = preset_names();
  for (const CustomModel& own : extensions.models) names.push_back(own.name);
  return names;
}

// "tiny, mini, small, medium, base or large"
std::string alternatives(const std::vector<std::string>& names) {
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) {
    text += (i + 1 < names.size() ? ", " : " or ") + names[i];
  }
  return text;
}

Need of_schedules(const std::vector<std::string>& schedules) {
  return {"schedule", "--schedule " + alternatives(schedules), schedules};
}

Need of_optimizers(const std::string& option) {
  const std::vector<std::string> users = optimizers_with(option);
  return {"optimizer", "an optimizer that uses it: " + list_of(users, ", "), users};
}

// 0.8,0.1,0.1, or without the last one, which is the rest.
std::array<double, 3> parse_split(const std::string& text) {
  const auto refuse = [&] {
    throw InputError(2, concat("--split: '", text, "' is not two or three shares"),
                     "the shares of train, dev and test: 0.8,0.1,0.1, or 0.8,0.1 with the rest for "
                     "test; or data, as DATA divides them");
  };
  const std::vector<std::string> parts = split_at_commas(text);
  std::array<double, 3> shares{};
  if (parts.size() < 2 || parts.size() > shares.size()) refuse();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto share = number_in<double>(parts[i]);
    if (!share) refuse();
    shares.at(i) = *share;
  }
  constexpr double kDigits = 1e9;  // 1 - 0.8 - 0.1 is 0.1 to a person
  if (parts.size() == 2) shares[2] = std::round((1 - shares[0] - shares[1]) * kDigits) / kDigits;
  require_split(shares);
  return shares;
}

void use_split(const std::string& text, PrepareOptions& prepare) {
  prepare.divider = text == kSplitOfData ? Divider::data : Divider::shares;
  if (text != kSplitOfData) prepare.split = parse_split(text);
}

double parse_target(const std::string& text) {
  const std::optional<double> number = number_of(text);
  if (number && std::isfinite(*number)) return *number;
  throw InputError(2, concat("--target-score: '", text, "' is not a number"),
                   "the score at which the run may end: --target-score 0.9");
}

void add_device_option(OptionSet& set, DeviceChoice& device) {
  set.choice<DeviceChoice>({"device", "Where to compute; auto: on GPUs if every rank has one"},
                           device,
                           {{"auto", DeviceChoice::automatic},
                            {"cpu", DeviceChoice::cpu},
                            {"cuda", DeviceChoice::cuda}})
      .others = {"use-cpu=cpu", "no-cuda=cpu", "cpu=cpu", "use-gpu=cuda"};
}

void add_early_stop_options(OptionSet& set, EarlyStopOptions& options) {
  set.number({"patience", "End after N evaluations in a row without an improvement; 0: never"},
             options.patience, 0, 1e9)
      .others = {"early-stopping-patience", "early-stopping"};
  set.needs(Need{"patience", "3"});
  set.number({"min-improvement", "An improvement of the score must be above N"},
             options.min_improvement, 0, kUnbounded)
      .others = {"early-stopping-threshold", "min-delta"};
  set.needs({});
  set.value({"target-score", "End once the score of an evaluation reaches N", "none", "N"}, "",
            [&](const std::string& score) { options.target = parse_target(score); });
  set.duration({"max-time", "End after this time of training: 90m, 2h30m, 1d", "none"},
               options.max_time, std::chrono::seconds(1))
      .others = {"stop-time-hours"};
}

}  // namespace

void add_reading_options(OptionSet& set, DataOptions& options) {
  PrepareOptions& prepare = options.prepare;
  set.group("Data");
  set.text({"task", "What the model learns: " + shown_names(task_names(options.extensions)), "",
            "NAME", task_names(options.extensions)},
           options.task_name)
      .others = {"do-regression=regress", "task-type"};
  options.task->add_options(set);
  set.choice<TextFormat>({"format", "Format of the text files"}, prepare.format,
                         {{"auto", TextFormat::automatic},
                          {"csv", TextFormat::csv},
                          {"tsv", TextFormat::tsv},
                          {"jsonl", TextFormat::jsonl}});
  set.choice<HeaderMode>(
      {"header", "Whether the first line names the columns"}, prepare.header,
      {{"auto", HeaderMode::automatic}, {"yes", HeaderMode::yes}, {"no", HeaderMode::no}});
  set.value({"separator",
             "Character between fields, or comma, semicolon, tab, bar, colon, space",
             "",
             "NAME",
             {"auto", "comma", "semicolon", "tab", "bar", "colon", "space"}},
            "auto", [&](const std::string& word) { prepare.separator = parse_separator(word); })
      .others = {"delimiter", "sep"};
  set.choice<bool>({"quote-escape", "How a CSV file writes a quote in quotes: twice, or as \\\""},
                   prepare.backslash, {{"double", false}, {"backslash", true}})
      .others = {"escapechar", "escape"};
  set.value({"encoding",
             "Encoding of the text files: utf-8, latin-1, windows-1252, ...",
             "",
             "NAME",
             {"auto", "utf-8", "latin-1", "windows-1252"}},
            "auto", [&](const std::string& word) { prepare.encoding = parse_encoding(word); })
      .others = {"charset", "file-encoding"};
  set.on_resume(OnResume::reason);
  set.paths({"also", "More rows behind those of DATA: a file or a folder of files; may be repeated",
             "", "FILE"},
            prepare.more_sources);
  set.number({"limit", "Read only the first N rows of each file; 0: all"}, prepare.limit, 0, 9e18)
      .others = {"max-train-samples", "max-samples", "nrows", "sample-limit"};
  set.path({"vocab", "A vocab.txt, a tokenizer.json, or a vocab.json beside merges.txt",
            "trained on the texts", "FILE"},
           prepare.vocabulary)
      .others = {"tokenizer-name", "dict", "vocab-file"};
  set.number({"max-length", "Most tokens of a sample, with [CLS] and [SEP]"}, prepare.max_length, 3,
             8192)
      .others = {"max-seq-length", "max-len", "max-source-length", "block-size"};
  set.choice<LongText>(
      {"long-text",
       "Split a longer text into several samples, perhaps at sentence ends, or cut it"},
      prepare.long_text,
      {{"fold", LongText::fold},
       {"fold-sentence", LongText::fold_sentence},
       {"truncate", LongText::truncate}});
}

void add_data_options(OptionSet& set, DataOptions& options) {
  PrepareOptions& prepare = options.prepare;
  add_reading_options(set, options);  // the last of which are reasons, too
  set.path({"dev", "File or folder with dev samples, instead of a share of DATA", "", "FILE"},
           prepare.dev_source)
      .others = {"validation-file", "validation", "val-file", "vali-file", "eval-file"};
  set.path({"test", "File or folder with test samples, instead of a share of DATA", "", "FILE"},
           prepare.test_source)
      .others = {"test-file", "test-files"};
  set.value({"split",
             "Shares of DATA's texts for train, dev and test, which may be left out; data: as DATA "
             "itself divides them",
             "0.8,0.1,0.1, unless DATA divides them", "T,D,E"},
            "0.8,0.1,0.1", [&](const std::string& shares) { use_split(shares, prepare); });
  set.number({"data-seed", "Seed of the split", "that of --seed"}, options.data_seed, 0, 9e18);
  set.flag({"stratify", "Give each class its share of train, dev and test"}, prepare.stratify)
      .others = {"stratified", "stratify-by-column"};
  set.flag({"dedupe", "Keep each text once, preferably in the test or dev file"}, prepare.dedupe)
      .others = {"drop-duplicates"};
  set.number({"vocab-size", "Tokens of a trained vocabulary"}, prepare.vocabulary_size, 6, 1e6);
  set.choice<VocabularyKind>(
      {"vocab-kind", "Kind of a trained vocabulary; bpe: of bytes, as RoBERTa's, keeps the case"},
      prepare.vocabulary_kind,
      {{"wordpiece", VocabularyKind::word_pieces}, {"bpe", VocabularyKind::byte_pairs}});
  set.on_resume(OnResume::free);
  set.path({"store", "The prepared data set", "DATA with the suffix .sqlite", "FILE"},
           prepare.store);
  set.flag({"stage", "Prepare on rank 0 only and copy its store to other hosts"}, options.stage);
}

void add_case_option(OptionSet& set, PrepareOptions& prepare) {
  set.on_resume(OnResume::reason);
  set.flag({"cased", "Keep case and accents, as a cased vocabulary needs it"}, prepare.lower_case,
           false)
      .others = {"no-lower-case"};
  set.on_resume(OnResume::free);
}

void add_split_seed_option(OptionSet& set, DataOptions& options) {
  set.number({"seed", "Seed of the split"}, options.seed, 0, 9e18);
}

void add_rebuild_option(OptionSet& set, PrepareOptions& prepare) {
  set.flag({"rebuild", "Prepare again, even if the store does not match"}, prepare.rebuild)
      .others = {"overwrite-cache"};
}

void add_computing_options(OptionSet& set, EvaluateOptions& options) {
  add_device_option(set, options.device);
  add_precision_option(set, "Type of products and activations; auto: the fastest",
                       options.precision);
}

void add_model_options(OptionSet& set, TrainOptions& options) {
  set.group("Model");
  set.path({"model",
            concat(alternatives(model_names(options.extensions)),
                   " (from scratch), or a Hugging Face folder "
                   "(from its weights, or from scratch if it has only config.json)"),
            "", "NAME|DIR", model_names(options.extensions)},
           options.model)
      .others = {"model-name-or-path",
                 "pretrained",
                 "model-name",
                 "pretrained-model-dir",
                 "config-file",
                 "config-name",
                 "bert-type",
                 "path-initial-model",
                 "transformers-state-dict",
                 "hetseq-state-dict"};
  set.needs(Need{"model", "a preset: --model tiny", model_names(options.extensions)});
  set.choice({"family", concat("Shape of a model from scratch: ", alternatives(model_types()))},
             options.family, model_types())
      .value = "NAME";
  set.needs({});
  set.number({"max-parameters", "Do not train a model with more parameters, and end with 77",
              "any number"},
             options.max_parameters, 1, kUnbounded)
      .others = {"automl-max-model-size"};
  set.number({"dropout", "Share of values dropped in training", "the model's, 0.1 for a new BERT"},
             options.dropout, 0, 0.999)
      .on_resume = OnResume::told;
  set.number({"lora", "Train adapters of rank N beside the frozen weights of DIR; 0: off"},
             options.lora.rank, 0, 65536)
      .others = {"lora-r", "lora-rank"};
  set.needs(Need{"lora", "8"});
  set.number({"lora-alpha", "Adapters count alpha / rank times"}, options.lora.alpha, 1e-6, 1e6);
  set.number({"lora-dropout", "Share of values dropped before adapters"}, options.lora.dropout, 0,
             0.999)
      .on_resume = OnResume::told;
  set.list({"lora-targets", "Products with adapters: query, key, value, dense, output.dense, ...",
            "query,value"},
           options.lora.targets)
      .others = {"target-modules"};
  set.needs({});
  add_device_option(set, options.device);
  set.on_resume(OnResume::told);
  add_precision_option(set, "Type of products and activations in training", options.precision);
  set.choice<DataType>({"wire", "Type of gradients between ranks; int8: between hosts only"},
                       options.wire,
                       {{"fp32", DataType::f32},
                        {"fp16", DataType::f16},
                        {"bf16", DataType::bf16},
                        {"int8", DataType::i8}});
  set.choice<Shard>({"shard", "What ranks divide; on GPUs none or optimizer"}, options.shard,
                    {{"none", Shard::none},
                     {"host", Shard::host},
                     {"optimizer", Shard::optimizer},
                     {"gradients", Shard::gradients},
                     {"parameters", Shard::parameters},
                     {"auto", Shard::automatic}})
      .on_resume = OnResume::free;
  set.needs(Need{"shard", "what all hosts divide", {"optimizer", "gradients", "parameters"}});
  set.text({"shard-shares",
            "How much of what all hosts divide each of them has: auto follows their free memory",
            "", "equal|auto|HOST:N,..."},
           options.shard_shares)
      .on_resume = OnResume::free;
  set.needs(Need{"shard", "gradients", {"gradients", "parameters"}});
  set.flag({"reduce-each",
            "Sum the gradients of each micro-batch at once: less memory, but sent as often"},
           options.reduce_each);
  set.needs({});
  set.value({"sync", "Steps (50) or time (30s) after which hosts exchange weights, or every step",
             "every", "every|N|TIME"},
            "", [&](const std::string& text) { set_sync(options.sync, text); });
  set.needs(Need{"sync", "50"});
  set.value({"sync-outer", "What they make of the weights: a name, or rate:N,momentum:N,nesterov",
             "local", "local|bmuf|diloco|..."},
            "", [&](const std::string& text) { options.sync.outer = parse_outer_rule(text); });
  set.flag({"sync-late", "Train on while weights travel, up to the next exchange"},
           options.sync.late);
  set.number({"sync-fragments", "Parts of the weights, of which hosts exchange one at a time"},
             options.sync.fragments, 1, kMostFragments);
  set.needs({});
  set.flag({"error-feedback", "Add what rounding for the wire takes to the next step's gradient"},
           options.error_feedback);
  set.number({"loss-scale", "First factor of the loss, which then follows the gradient's range",
              "65536 with --precision fp16, else none"},
             options.loss_scale, 1, kUnbounded)
      .others = {"initial-loss-scale", "init-scale"};
}

void add_training_options(OptionSet& set, TrainOptions& options) {
  set.group("Training", OnResume::told);
  set.number({"epochs", "Passes over the train split, such as 3 or 0.5",
              "10 from scratch, 3 from weights"},
             options.epochs, kFewestEpochs, 1e6)
      .others = {"num-train-epochs", "num-epochs", "max-epoch", "max-epochs",
                 "epoch-num",        "me",         "e"};
  set.number({"steps", "Optimizer steps, instead of epochs", "those of the epochs"}, options.steps,
             1, kUnbounded)
      .others = {"max-steps",       "max-update",       "max-train-step",
                 "max-train-steps", "total-num-update", "mu"};
  Option& batch =
      set.number({"batch", "Samples per micro-batch and rank; auto: as many as its memory holds",
                  "", "N|auto"},
                 options.batch, 1, 1e6);
  batch.assign = [&options, one = batch.assign](const std::vector<std::string>& values) {
    options.fits_batch = values.back() == "auto";
    return options.fits_batch ? values.back() : one(values);
  };
  batch.others = {"batch-size",         "per-device-train-batch-size",
                  "train-batch-size",   "per-gpu-train-batch-size",
                  "per-gpu-batch-size", "batch-size-one-gpu",
                  "max-sentences"};
  set.number({"total-batch", "Samples per step of all ranks, instead of --accumulate",
              "ranks x batch x accumulate"},
             options.total_batch, 1, 1e9)
      .others = {"global-batch-size"};
  set.number({"max-tokens", "Most tokens per micro-batch and rank, instead of --batch", "none"},
             options.max_tokens, 1, 1e9)
      .others = {"max-tokens-per-batch", "variable-batch-size"};
  set.numbers({"accumulate", "Micro-batches per step and rank; a list: in each epoch"},
              options.accumulate.values(), 1, 1e6)
      .others = {"gradient-accumulation-steps", "update-freq", "iter-num-update-optimizer",
                 "gradient-accumulation"};
  set.text({"share", "How many rows of a step each host takes: auto follows the speed of its ranks",
            "", "weights|equal|auto|HOST:N,..."},
           options.share);
  set.number({"curriculum", "Epochs that begin with short samples, such as 0.5 or 2"},
             options.curriculum, 0, 1e6);
  set.number({"group-lengths", "Put N samples of similar length one after another; 0: off"},
             options.group_lengths, 0, 1e9)
      .others = {"group-by-length", "length-column-name", "train-sampling-strategy"};
  Option& optimizer = set.choice({"optimizer", "How gradients change the parameters"},
                                 options.optimizer, optimizer_names(options.extensions));
  optimizer.on_resume = OnResume::free;  // must be the same: see differences()
  optimizer.others = {"optim", "optimizer-name"};
  set.numbers({"lr", "Highest learning rate; a list: in each epoch",
               "0.128/hidden from scratch, else 5e-5 (1e-4 below 512), 10 times that with --lora"},
              options.lr.values(), 1e-12, 10)
      .others = {"learning-rate"};
  set.choice({"schedule", "How the rate falls, or stays, after the warm-up"}, options.schedule,
             schedule_names(options.extensions))
      .others = {"lr-scheduler-type", "lr-scheduler", "lr-decay-strategy"};
  set.value(
         {"schedule-length", "Steps or epochs (5e) in which the rate falls, if more than the run's",
          "those of the run", "N"},
         "",
         [&](const std::string& length) {
           options.schedule_length = parse_every("--schedule-length", length);
         })
      .others = {"total-num-update", "max-update-of-schedule"};
  set.needs(of_schedules({"linear", "cosine", "polynomial", "cyclic"}));
  set.number({"end-lr", "Rate that a schedule falls to", "0"}, options.end_lr, 0, 10).others = {
      "end-learning-rate", "lr-end"};
  set.needs(of_schedules({"polynomial"}));
  set.number({"power", "Power of the polynomial schedule; 1: a line", "1"}, options.power, 0, 100);
  set.needs(of_schedules({"step"}));
  set.value({"decay-every", "Steps or epochs (1e) after which the step schedule lowers the rate",
             "none", "N"},
            "",
            [&](const std::string& every) {
              options.decay_every = parse_every("--decay-every", every);
            })
      .others = {"stepwise-lr-decay-epochs"};
  set.number({"decay-factor", "What the step schedule multiplies the rate by", "0.1"},
             options.decay_factor, 0, 1)
      .others = {"stepwise-lr-decay-ratio"};
  set.needs(of_schedules({"cyclic"}));
  set.number({"cycle", "Steps in which the cyclic schedule falls and rises", "none"}, options.cycle,
             2, kUnbounded);
  set.needs({});
  set.number({"force-anneal", "Epoch from which the rate stays as it is", "none"},
             options.force_anneal, 2, kUnbounded)
      .others = {"fa"};
  set.value({.name = "warmup",
             .help = "Share of the steps, or epochs (0.5e), in which the rate rises at first",
             .value_name = "N"},
            number_text(options.warmup),
            [&](const std::string& text) {
              const Warmup warmup = parse_warmup(text);
              options.warmup = warmup.share;
              options.warmup_epochs = warmup.epochs;
              options.warmup_steps = warmup.steps;
            })
      .others = {"warmup-ratio", "warmup-proportion", "warmup-steps", "warmup-updates",
                 "num-warmup-steps"};
  set.number({"weight-decay", "Weight decay, not for biases and layer norms"}, options.weight_decay,
             0, 10)
      .others = {"wd", "dadelta-weight-decay"};
  set.needs(of_optimizers("betas"));
  set.value({"betas", "Shares that the means of gradients keep (adamw, adam, lion, lamb)",
             "0.9,0.99 of lion, else 0.9,0.999", "B1,B2"},
            "",
            [&](const std::string& betas) {
              std::tie(options.beta1, options.beta2) = parse_betas(betas);
            })
      .others = {"adam-betas"};
  set.needs(of_optimizers("epsilon"));
  set.number({"epsilon", "Epsilon of the optimizer (adamw, adam, lamb, adadelta)",
              "1e-6 of lamb and adadelta, else 1e-8"},
             options.epsilon, 0, 1)
      .others = {"adam-epsilon", "adam-eps", "adadelta-eps"};
  set.needs(of_optimizers("momentum"));
  set.number({"momentum", "Share that the sum of gradients keeps (sgd)", "0"}, options.momentum, 0,
             0.999999)
      .on_resume = OnResume::free;
  set.needs(of_optimizers("nesterov"));
  set.flag({"nesterov", "Nesterov's momentum, for sgd"}, options.nesterov);
  set.needs(of_optimizers("rho"));
  set.number({"rho", "Share that the means of squares keep (adadelta)", "0.9"}, options.rho, 0,
             0.999999)
      .others = {"adadelta-rho"};
  set.needs({});
  options.task->add_training_options(set);
  set.number({"clip", "Largest norm of the gradient; 0: no limit"}, options.clip, 0, 1e9).others = {
      "max-grad-norm", "clip-norm", "param-norm"};
  set.path({"teacher", "Also learn the outputs of a trained model: a run's or model's folder",
            "none", "DIR"},
           options.distill.teacher)
      .others = {"teacher-model"};
  set.needs(Need{"teacher", "DIR"});
  set.number({"distill-temperature", "Temperature of both models' outputs"},
             options.distill.temperature, 0.01, 1000);
  set.number({"distill-weight", "The teacher's part of the loss; 1: all of it"},
             options.distill.weight, 0, 1);
  set.number({"distill-hidden", "Weight of the difference of hidden states; 0: off"},
             options.distill.hidden, 0, 1e6);
  set.needs({});
  set.list({"freeze", "Parts that stay as they are: embeddings, encoder, pooler, 0, 0-3", "none"},
           options.freeze)
      .others = {"freeze-layers"};
  set.value(
      {"unfreeze-every", "Train one more layer, from the top down, after N steps or epochs (1e)",
       "all from the beginning", "N"},
      "", [&](const std::string& every) {
        options.unfreeze_every = parse_every("--unfreeze-every", every);
      });
  set.number({"layer-decay", "Factor of the rate of each layer to that of the layer above"},
             options.layer_decay, kSmallestDecay, 1)
      .others = {"llrd", "layerwise-lr-decay"};
  set.number({"ema", "Decay of an average of the weights, which is the model; 0: off"}, options.ema,
             0, 0.999999999)
      .others = {"ema-decay"};
  set.number({"swa-from", "Share of the steps from which the model is the mean of weights; 0: off"},
             options.swa_from, 0, 0.999)
      .others = {"swa-start"};
  set.number({"seed", "Seed of weights, order, dropout and, without --data-seed, split"},
             options.seed, 0, 9e18)
      .on_resume = OnResume::free;
  set.value(
         {"eval-every",
          "Steps (100), epochs (0.5e), rows (5000r) or time (10m) between evaluations on the dev "
          "split; or none",
          "1e", "N|TIME|none"},
         "",
         [&](const std::string& every) {
           options.eval_every = parse_intervals("--eval-every", every.empty() ? "1e" : every);
         })
      .others = {"eval-steps"};
  set.text({"best-metric", "Score of the dev split by which checkpoints are compared",
            "the task's first", "NAME"},
           options.best_metric)
      .others = {"metric-for-best-model", "best-checkpoint-metric", "metric-name"};
  set.flag({"eval-first", "Also evaluate before the first step"}, options.eval_first).others = {
      "eval-on-start"};
  add_early_stop_options(set, options.early_stop);
  set.on_resume(OnResume::free);
  set.flag({"checkpoint-activations", "Save memory: compute activations again in backward passes"},
           options.checkpoint_activations)
      .others = {"gradient-checkpointing"};
  set.number(
      {"check-gradients", "Compare parameters and gradients of all ranks every N steps", "never"},
      options.check_gradients, 1, kUnbounded);
  set.flag({"detect-anomaly", "Name the first activation or gradient that is not finite, and end"},
           options.detect_anomaly);
  set.number({"overfit", "Train on N samples and evaluate on the same; 0: off"}, options.overfit, 0,
             kUnbounded)
      .others = {"overfit-batches"};
  set.flag({"fast-dev-run", "Try everything in 2 steps, and keep nothing"}, options.fast_dev_run);
}

void add_output_options(OptionSet& set, TrainOptions& options) {
  set.group("Output");
  set.path({"run", "Folder of the run; an existing run resumes", "runs/<name of DATA>", "DIR"},
           options.run)
      .others = {"output-dir", "output",  "save-dir",          "run-name",
                 "model-dir",  "run-tag", "experiment-folder", "logging-dir"};
  set.path({"resume",
            "auto: from the run's newest checkpoint, if it has one; never: refuse an existing run; "
            "PATH: from this checkpoint, or the newest of this run",
            "",
            "auto|never|PATH",
            {"auto", "never"}},
           options.resume)
      .others = {"resume-from-checkpoint", "restore-file", "continue-training-path",
                 "path-work-restored-training"};
  set.flag({"reset-schedule", "Begin the schedule of the rate again where the run resumes"},
           options.reset.schedule)
      .others = {"reset-lr-scheduler"};
  set.flag({"reset-optimizer", "Resume without the state of the optimizer"},
           options.reset.optimizer);
  set.flag({"reset-data", "Begin again with the first epoch, perhaps of other data"},
           options.reset.data)
      .others = {"reset-dataloader", "ignore-data-skip"};
  set.flag({"reset-meters", "Forget the totals and the best scores of the checkpoint"},
           options.reset.meters);
  set.on_resume(OnResume::told);
  set.value(
         {"save-every",
          "Steps (100), epochs (0.5e), rows (5000r) or time (10m) between checkpoints, or several "
          "of them; or none",
          "1e", "N|TIME|none"},
         "",
         [&](const std::string& every) {
           options.save_every = parse_intervals("--save-every", every);
         })
      .others = {"save-steps", "save-interval", "save-interval-updates", "checkpointing-steps"};
  set.number({"keep", "Keep the N most recent checkpoints"}, options.keep, 1, 1e6).others = {
      "save-total-limit", "keep-last-epochs", "keep-interval-updates", "model-saved-num"};
  set.number({"keep-best", "Also keep the N checkpoints with the best dev scores"},
             options.keep_best, 1, 1e6);
  set.number({"keep-every", "Also keep each checkpoint whose step is a multiple of N", "none"},
             options.keep_every, 1, kUnbounded);
  set.flag({"no-optimizer-state", "Write checkpoints without what the optimizer keeps"},
           options.optimizer_state, false)
      .others = {"save-only-model", "no-save-optimizer-state"};
  set.choice<FinalWeights>(
         {"final", "Weights that become RUN/model: of the last step, or the best on dev"},
         options.final_weights, {{"last", FinalWeights::last}, {"best", FinalWeights::best}})
      .others = {"load-best-model-at-end=best"};
  set.on_resume(OnResume::free);
  set.number({"log-every", "Steps between lines of metrics.jsonl", "some hundreds in a run"},
             options.log_every, 1, kUnbounded)
      .others = {"logging-steps", "log-interval", "print-freq"};
  set.path(
      {"trace",
       "Folder for a timeline of each rank and a record of each step (sample ids, loss, hash of "
       "the parameters), for debugging",
       "none", "DIR"},
      options.trace);
  set.path({"tensorboard", "Folder for TensorBoard's event files", "none", "DIR"},
           options.tensorboard)
      .others = {"tensorboard-dir"};
  set.path({"runs-db", "SQLite file to add the run's results to", "none", "FILE"}, options.runs_db);
}

void add_config_option(OptionSet& set, DataOptions& options) {
  set.path(
         {"config", "YAML file with options by these names; the command line wins", "none", "FILE"},
         options.config)
      .others = {"params"};
}

}  // namespace bp::trainer
