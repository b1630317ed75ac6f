#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/model/families/family.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/tasks.h"
#include "trainer/tasks/tokens/token_head.h"
#include "trainer/tasks/tokens/token_scorer.h"

namespace bp::trainer {
namespace {

class TokensTask : public Task {
 public:
  [[nodiscard]] HeadMaker head() const override { return make_token_head; }
  [[nodiscard]] bool compares_predictions() const override { return true; }
  [[nodiscard]] std::string peft_type() const override { return "TOKEN_CLS"; }
  [[nodiscard]] std::vector<MainScore> metrics() const override {
    return {{"f1", true},       {"loss", false},       {"precision", true}, {"recall", true},
            {"f1_macro", true}, {"f1_weighted", true}, {"accuracy", true}};
  }
  [[nodiscard]] std::vector<std::string> result_files() const override { return {"entities.csv"}; }

  [[nodiscard]] std::vector<Tile> tiles(const EvaluationSummary& summary) const override {
    constexpr int kDigits = 3;
    return {{"F1 of entities", fixed(summary.at("f1"), kDigits)},
            {"Precision", fixed(summary.at("precision"), kDigits)},
            {"Recall", fixed(summary.at("recall"), kDigits)},
            {"Accuracy of words", fixed(summary.at("accuracy"), kDigits)}};
  }

  void check(const EncoderSpec& config) const override { (void)label_config_of(config); }
  void configure(EncoderSpec& config, const SampleStore& store) const override {
    config.head = label_keys({store.names(), label_config_of(config).dropout}, config,
                             "ForTokenClassification");
  }

  [[nodiscard]] std::string describe(const EncoderSpec& config) const override {
    return concat(label_config_of(config).labels.size(), " tags");
  }

  [[nodiscard]] TakenWeights taken_weights(const EncoderSpec& stored,
                                           const EncoderSpec& wanted) const override {
    TakenWeights taken{.optional = {"classifier.", names_of(wanted).pooler_part()}};
    const std::vector<std::string> tags = label_config_of(stored).labels;
    if (tags != label_config_of(wanted).labels) {
      taken.replaced = {"classifier."};
      if (!tags.empty()) taken.reason = "the model's tags are not the data's";
    }
    return taken;
  }

  void require_trained(const EncoderSpec& config, const std::string& model) const override {
    if (!label_config_of(config).labels.empty()) return;
    throw InputError(65, concat(model, "/config.json names no tags (id2label)"),
                     "only a model for token classification can be scored");
  }

  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const std::vector<std::string>& names,
                                                    const EncoderSpec& config,
                                                    const StoredSplit& scored) const override {
    const std::vector<std::string> tags = label_config_of(config).labels;
    return make_token_scorer(tags, map_labels(names, tags, "tag"), scored);
  }
};

}  // namespace

std::shared_ptr<const Task> make_tokens_task(const TaskInput& /*input*/) {
  return std::make_shared<TokensTask>();
}

}  // namespace bp::trainer
