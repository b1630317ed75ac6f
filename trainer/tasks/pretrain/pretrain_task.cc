// The task "pretrain": a masked language model, from scratch or continued from weights.
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/pretrain/masked_scorer.h"
#include "trainer/tasks/pretrain/pretrain_head.h"
#include "trainer/tasks/pretrain/pretrain_input.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

constexpr const char* kArchitectures = "architectures";
constexpr const char* kMaskedModel = R"(["BertForMaskedLM"])";

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
  return targets;
}

class PretrainTask : public Task {
 public:
  [[nodiscard]] HeadMaker head() const override {
    return [](const BertConfig& config, Parameters& parameters) {
      return make_masked_head(config, parameters, targets_of);
    };
  }
  [[nodiscard]] MainScore main_score() const override { return {"loss", false}; }

  [[nodiscard]] std::vector<Tile> tiles(const EvaluationSummary& summary) const override {
    constexpr int kPercent = 100;
    constexpr int kDigits = 3;
    return {{"Loss of masked tokens", fixed(summary.at("loss"), kDigits)},
            {"Perplexity", brief(summary.at("perplexity"))},
            {"Masked tokens right", fixed(kPercent * summary.at("accuracy"), 1) + " %"}};
  }

  void check(const BertConfig& /*config*/) const override {}

  void configure(BertConfig& config, const SampleStore& /*store*/) const override {
    config.head = {{kArchitectures, kMaskedModel}};
  }

  [[nodiscard]] std::string describe(const BertConfig& /*config*/) const override {
    return "masked tokens";
  }

  [[nodiscard]] TakenWeights taken_weights(const BertConfig& /*stored*/,
                                           const BertConfig& /*wanted*/) const override {
    return {.optional = {"cls.predictions."}};
  }

  void require_trained(const BertConfig& config, const std::string& model) const override {
    const auto found = config.head.find(kArchitectures);
    if (found == config.head.end() || found->second == kMaskedModel ||
        found->second == R"(["BertForPreTraining"])") {
      return;
    }
    throw InputError(
        65, concat(model, "/config.json is of a model for another task: ", found->second),
        "only a masked language model (BertForMaskedLM) can be scored by --task pretrain");
  }

  [[nodiscard]] std::unique_ptr<Predictor> make_predictor(
      const std::vector<std::string>& /*names*/, const BertConfig& /*config*/) const override {
    return std::make_unique<MaskedPredictor>();
  }
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const SampleStore& store,
                                                    Split split,
                                                    const BertConfig& /*config*/) const override {
    return std::make_unique<MaskedScorer>(store.size(split));
  }
};

}  // namespace

std::shared_ptr<const Task> make_pretrain_task(const TaskInput& /*input*/) {
  return std::make_shared<PretrainTask>();
}

}  // namespace bp::trainer
