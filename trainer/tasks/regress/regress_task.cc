// The task "regress": a number for each text.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/regress/regress_head.h"
#include "trainer/tasks/regress/regress_input.h"
#include "trainer/tasks/regress/regress_scorer.h"
#include "trainer/tasks/tasks.h"
namespace bp::trainer {
namespace {

constexpr const char* kRegression = "\"regression\"";

class RegressTask : public Task {
 public:
  [[nodiscard]] HeadMaker head() const override {
    return [](const BertConfig& config, Parameters& parameters) {
      const auto targets = [](const Batch& batch) -> std::span<const double> {
        return batch.arrays[kTargetArray].reals;
      };
      return regress_head({label_config_of(config).dropout, targets})(config, parameters);
    };
  }
  [[nodiscard]] bool compares_predictions() const override { return true; }
  [[nodiscard]] std::string peft_type() const override { return "SEQ_CLS"; }
  [[nodiscard]] std::vector<MainScore> metrics() const override {
    return {{"pearson", true}, {"loss", false}, {"mae", false}, {"spearman", true}};
  }

  [[nodiscard]] std::vector<Tile> tiles(const EvaluationSummary& summary) const override {
    constexpr int kDigits = 3;
    return {{"Pearson correlation", fixed(summary.at("pearson"), kDigits)},
            {"Spearman correlation", fixed(summary.at("spearman"), kDigits)},
            {"Mean squared error", brief(summary.at("loss"))},
            {"Mean absolute error", brief(summary.at("mae"))}};
  }

  void check(const BertConfig& config) const override { (void)label_config_of(config); }

  // transformers gives the only output a name, too.
  void configure(BertConfig& config, const SampleStore& /*store*/) const override {
    config.head =
        label_keys({{"LABEL_0"}, label_config_of(config).dropout}, "BertForSequenceClassification");
    config.head.emplace("problem_type", kRegression);
  }

  [[nodiscard]] std::string describe(const BertConfig& /*config*/) const override {
    return "a number";
  }

  [[nodiscard]] TakenWeights taken_weights(const BertConfig& stored,
                                           const BertConfig& /*wanted*/) const override {
    TakenWeights taken{.optional = {"classifier.", "bert.pooler."}};
    if (!predicts_number(stored)) taken.replaced = {"classifier."};
    return taken;
  }

  void require_trained(const BertConfig& config, const std::string& model) const override {
    if (predicts_number(config)) return;
    throw InputError(65, concat("problem_type in ", model, "/config.json is not \"regression\""),
                     "only a model that predicts a number can be scored by --task regress");
  }

  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const std::vector<std::string>& /*names*/,
                                                    const BertConfig& /*config*/,
                                                    const StoredSplit& scored) const override {
    return std::make_unique<RegressScorer>(scored);
  }
};

}  // namespace

std::shared_ptr<const Task> make_regress_task(const TaskInput& /*input*/) {
  return std::make_shared<RegressTask>();
}

}  // namespace bp::trainer
