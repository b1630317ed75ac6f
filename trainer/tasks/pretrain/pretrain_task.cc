// The task "pretrain": a masked language model, from scratch or continued from weights.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/model/families/family.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/pretrain/masked_scorer.h"
#include "trainer/tasks/pretrain/pretrain_head.h"
#include "trainer/tasks/pretrain/pretrain_input.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

constexpr const char* kArchitectures = "architectures";
// The key in config.json of PretrainTargets::masked_per_sample.
constexpr const char* kMaskedPerSample = "bp_masked_per_sample";

// Returns the mean number of masked tokens of the first training samples, as far as they are
// stored, or what the share of masks makes of their lengths. It is the same on all ranks.
double masked_per_sample(const SampleStore& store, const MaskOptions& masks) {
  constexpr std::int64_t kSamples = 1000;
  const std::int64_t samples = std::min(kSamples, store.size(Split::train));
  double sum = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    const Sample sample = store.load(Split::train, i);
    const bool stored = sample.arrays.size() > kPairArrays;
    sum += stored ? static_cast<double>(sample.arrays.back().integers.size())
                  : std::max(1.0, masks.share * static_cast<double>(sample.token_ids.size()));
  }
  return sum > 0 ? sum / static_cast<double>(samples) : 1;
}

// Returns the value of 'architectures' for a model that predicts masked tokens, and with `pairs`
// next sentences, too.
std::string architectures(const EncoderSpec& config, bool pairs) {
  return concat("[\"", class_name(config, pairs ? "ForPreTraining" : "ForMaskedLM"), "\"]");
}

double stated_masked_per_sample(const EncoderSpec& config) {
  const auto found = config.head.find(kMaskedPerSample);
  return found == config.head.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
}

// Throws InputError (65) unless samples of this schema are pairs.
void require_pairs(const SampleSchema& schema) {
  if (std::ranges::count(schema, kNextSentence, &ArrayField::name) > 0) return;
  throw InputError(65, "the samples of this store do not say which segment follows another",
                   "make the store with --next-sentence, or leave it out here");
}

PretrainTargets targets_of(const Batch& batch) {
  const BatchArray& positions = masked_positions(batch);
  const BatchArray& ids = masked_ids(batch);
  PretrainTargets targets{.masked = positions.sizes};
  for (std::size_t row = 0; row < positions.sizes.size(); ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(positions.width));
    const auto end = begin + positions.sizes[row];
    targets.positions.insert(targets.positions.end(), positions.integers.begin() + begin,
                             positions.integers.begin() + end);
    targets.ids.insert(targets.ids.end(), ids.integers.begin() + begin, ids.integers.begin() + end);
  }
  if (has_next_sentence(batch)) {
    targets.next_sentence = batch.arrays[kNextSentenceArray].integers;
  }
  return targets;
}

class PretrainTask : public Task {
 public:
  explicit PretrainTask(const PretrainOptions& options)
      : pairs_(options.next_sentence), masks_(options.masks) {}

  [[nodiscard]] HeadMaker head() const override {
    return [pairs = pairs_](const EncoderSpec& config, Parameters& parameters) {
      const auto read = [stated = stated_masked_per_sample(config)](const Batch& batch) {
        PretrainTargets targets = targets_of(batch);
        targets.masked_per_sample = stated;
        return targets;
      };
      return make_pretrain_head(config, parameters, read, pairs);
    };
  }
  [[nodiscard]] std::vector<MainScore> metrics() const override {
    std::vector<MainScore> metrics = {{"loss", false}, {"perplexity", false}, {"accuracy", true}};
    if (!pairs_) return metrics;
    metrics.push_back({"next_sentence_loss", false});
    metrics.push_back({"next_sentence_accuracy", true});
    return metrics;
  }

  [[nodiscard]] std::vector<Tile> tiles(const EvaluationSummary& summary) const override {
    constexpr int kPercent = 100;
    constexpr int kDigits = 3;
    std::vector<Tile> tiles = {
        {"Loss of masked tokens", fixed(summary.at("loss"), kDigits)},
        {"Perplexity", brief(summary.at("perplexity"))},
        {"Masked tokens right", fixed(kPercent * summary.at("accuracy"), 1) + " %"}};
    if (pairs_) {
      tiles.push_back({"Next sentences right",
                       fixed(kPercent * summary.at("next_sentence_accuracy"), 1) + " %"});
    }
    return tiles;
  }

  void configure(EncoderSpec& config, const SampleStore& store) const override {
    config.head = {{kArchitectures, architectures(config, pairs_)}};
    if (!pairs_) return;
    if (names_of(config).next_sentence.empty()) {
      throw InputError(2,
                       concat("models of the family ", config.family,
                              " have no head that predicts next sentences"),
                       "leave out --next-sentence");
    }
    require_pairs(store.schema());
    config.head[kMaskedPerSample] = concat(masked_per_sample(store, masks_));
  }

  [[nodiscard]] std::string describe(const EncoderSpec& /*config*/) const override {
    return pairs_ ? "masked tokens, next sentences" : "masked tokens";
  }

  [[nodiscard]] TakenWeights taken_weights(const EncoderSpec& /*stored*/,
                                           const EncoderSpec& wanted) const override {
    const WeightNames& names = names_of(wanted);
    TakenWeights taken{.optional = {names.masked_bias, names.pooler_part()}};
    for (const std::string& module : {names.masked_dense, names.masked_norm, names.next_sentence}) {
      if (!module.empty()) taken.optional.push_back(module + ".");
    }
    return taken;
  }

  void require_trained(const EncoderSpec& config, const std::string& model) const override {
    const auto found = config.head.find(kArchitectures);
    if (found == config.head.end() || found->second == architectures(config, false) ||
        found->second == architectures(config, true)) {
      return;
    }
    throw InputError(65,
                     concat(model, "/config.json is of a model for another task: ", found->second),
                     concat("only a masked language model (", class_name(config, "ForMaskedLM"),
                            ") can be scored by --task pretrain"));
  }

  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const std::vector<std::string>& /*names*/,
                                                    const EncoderSpec& /*config*/,
                                                    const StoredSplit& scored) const override {
    if (scored.store == nullptr) return std::make_unique<MaskedScorer>(0, pairs_);
    if (pairs_) require_pairs(scored.store->schema());
    return std::make_unique<MaskedScorer>(scored.store->size(scored.split), pairs_, scored);
  }

 private:
  bool pairs_;  // the model predicts next sentences, too
  MaskOptions masks_;
};

}  // namespace

std::shared_ptr<const Task> make_pretrain_task(const TaskInput& input) {
  return std::make_shared<PretrainTask>(pretrain_options(input));
}

}  // namespace bp::trainer
