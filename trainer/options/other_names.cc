#include "trainer/options/other_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/nearest.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

struct OtherName {
  std::string_view other;  // in another trainer
  std::string_view own;    // in bert_train
};

// Options of the command lines of transformers and other trainers.
constexpr std::array kOtherOptions{
    OtherName{"batch-size", "batch"},
    OtherName{"per-device-train-batch-size", "batch"},
    OtherName{"train-batch-size", "batch"},
    OtherName{"learning-rate", "lr"},
    OtherName{"num-train-epochs", "epochs"},
    OtherName{"num-epochs", "epochs"},
    OtherName{"max-steps", "steps"},
    OtherName{"output-dir", "run"},
    OtherName{"output", "run"},
    OtherName{"save-dir", "run"},
    OtherName{"max-seq-length", "max-length"},
    OtherName{"max-len", "max-length"},
    OtherName{"model-name-or-path", "model"},
    OtherName{"pretrained", "model"},
    OtherName{"validation-file", "dev"},
    OtherName{"validation", "dev"},
    OtherName{"test-file", "test"},
    OtherName{"gradient-accumulation-steps", "accumulate"},
    OtherName{"update-freq", "accumulate"},
    OtherName{"max-tokens-per-batch", "max-tokens"},
    OtherName{"gradient-checkpointing", "checkpoint-activations"},
    OtherName{"swa-start", "swa-from"},
    OtherName{"reset-lr-scheduler", "reset-schedule"},
    OtherName{"reset-dataloader", "reset-data"},
    OtherName{"warmup-ratio", "warmup"},
    OtherName{"max-grad-norm", "clip"},
    OtherName{"delimiter", "separator"},
    OtherName{"sep", "separator"},
    OtherName{"charset", "encoding"},
    OtherName{"text-column", "text"},
    OtherName{"label-column", "label"},
    OtherName{"target", "label"},
    OtherName{"classes", "labels"},
    OtherName{"class-names", "labels"},
    OtherName{"label-list", "labels"},
    OtherName{"label-mapping", "label-map"},
    OtherName{"label2id", "labels"},
    OtherName{"save-steps", "save-every"},
    OtherName{"eval-steps", "eval-every"},
    OtherName{"resume-from-checkpoint", "resume"},
    OtherName{"metric-for-best-model", "best-metric"},
    OtherName{"best-checkpoint-metric", "best-metric"},
    OtherName{"load-best-model-at-end", "final best"},
    OtherName{"save-total-limit", "keep"},
    OtherName{"early-stopping-patience", "patience"},
    OtherName{"early-stopping", "patience"},
    OtherName{"early-stopping-threshold", "min-improvement"},
    OtherName{"min-delta", "min-improvement"},
    OtherName{"stop-time-hours", "max-time"},
    OtherName{"ema-decay", "ema"},
    OtherName{"freeze-layers", "freeze"},
    OtherName{"lora-r", "lora"},
    OtherName{"lora-rank", "lora"},
    OtherName{"target-modules", "lora-targets"},
    OtherName{"teacher-model", "teacher"},
    OtherName{"llrd", "layer-decay"},
    OtherName{"layerwise-lr-decay", "layer-decay"},
    OtherName{"eval-on-start", "eval-first"},
    OtherName{"overfit-batches", "overfit"},
    OtherName{"max-epoch", "epochs"},
    OtherName{"max-epochs", "epochs"},
    OtherName{"max-update", "steps"},
    OtherName{"drop-duplicates", "dedupe"},
    OtherName{"strip-labels", "trim-labels"},
    OtherName{"stratified", "stratify"},
    OtherName{"stratify-by-column", "stratify"},
    OtherName{"bf16", "precision bf16"},
    OtherName{"fp16", "precision fp16"},
    OtherName{"initial-loss-scale", "loss-scale"},
    OtherName{"init-scale", "loss-scale"},
    OtherName{"predictions", "out"},
    OtherName{"max-train-samples", "limit"},
    OtherName{"max-samples", "limit"},
    OtherName{"nrows", "limit"},
    OtherName{"no-lower-case", "cased"},
};

constexpr std::array kOtherCommands{
    OtherName{"evaluate", "eval RUN"},
    OtherName{"score", "eval RUN"},
    OtherName{"prepare", "prep DATA"},
    OtherName{"preprocess", "prep DATA"},
    OtherName{"train", "DATA"},
    OtherName{"fit", "DATA"},
    OtherName{"resume", "DATA"},
    OtherName{"help", "--help"},
    OtherName{"version", "--version"},
    OtherName{"check", "check DATA"},
    OtherName{"validate", "check DATA"},
    OtherName{"stats", "check DATA"},
    OtherName{"eval", "eval RUN"},
    OtherName{"prep", "prep DATA"},
    OtherName{"stop", "stop RUN"},
    OtherName{"shards", "shards TEXT"},
    OtherName{"report", "report RUN"},
    OtherName{"estimate", "estimate DATA"},
    OtherName{"scale", "scale DATA"},
    OtherName{"sweep", "sweep SPACE -- DATA"},
    OtherName{"replay", "replay FOLDER"},
    OtherName{"compare", "report RUN RUN"},
    OtherName{"runs", "runs FOLDER"},
    OtherName{"list", "runs FOLDER"},
    OtherName{"predict", "predict RUN DATA"},
    OtherName{"infer", "predict RUN DATA"},
    OtherName{"export", "export RUN"},
    OtherName{"merge", "merge RUN --out DIR"},
    OtherName{"onnx", "export RUN"},
    OtherName{"convert", "export RUN"},
    OtherName{"inference", "predict RUN DATA"},
};

// "--Batch_size" as "batch-size".
std::string normal(const std::string& word) {
  std::string text = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return text;
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

}  // namespace

std::string hint_for_option(const std::string& word, const std::vector<std::string>& names) {
  const std::string wanted = normal(word);
  constexpr std::array<std::string_view, 4> kRanks{"n", "np", "nproc", "nproc-per-node"};
  if (word.starts_with('-') && std::ranges::count(kRanks, wanted) > 0) {
    return "the number of ranks is bprun's: bprun -n 2 bert_train ...";
  }
  for (const OtherName& name : kOtherOptions) {
    if (wanted == name.other && std::ranges::count(names, first_word(name.own)) > 0) {
      return concat("here it is called --", name.own);
    }
  }
  const std::string nearest = nearest_name(wanted, names);
  const char* dashes = word.starts_with('-') ? "--" : "";
  return nearest.empty() ? "" : concat("did you mean '", dashes, nearest, "'?");
}

std::string hint_for_command(const std::string& word) {
  std::error_code ignored;
  if (word.empty() || word.find_first_of("./-") != std::string::npos ||
      std::filesystem::exists(word, ignored)) {
    return "";
  }
  std::vector<std::string> names;
  for (const OtherName& name : kOtherCommands) names.emplace_back(name.other);
  const std::string nearest = nearest_name(word, names);
  for (const OtherName& name : kOtherCommands) {
    if (name.other == nearest) return concat("did you mean 'bert_train ", name.own, "'?");
  }
  return "";
}

}  // namespace bp::trainer
