#include <cmath>
#include <memory>
#include <optional>

#include "base/check.h"
#include "base/input_error.h"
#include "base/text.h"
#include "trainer/model/bert.h"
#include "trainer/model/families/family.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/gap/gap_head.h"
#include "trainer/tasks/gap/gap_input.h"
#include "trainer/tasks/gap/gap_scorer.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

// Returns the head of a configuration that configure() has completed, or of a trained model.
GapHeadKind kind_in(const EncoderSpec& config) {
  const auto kind = gap_head_of(config);
  BP_CHECK(kind.has_value(), "a configuration for GAP");
  return *kind;
}

class GapTask : public Task {
 public:
  explicit GapTask(GapHeadKind kind) : kind_(kind) {}

  [[nodiscard]] HeadMaker head() const override {
    return [](const EncoderSpec& config, Parameters& parameters) {
      return make_gap_head(kind_in(config))(config, parameters);
    };
  }
  [[nodiscard]] bool compares_predictions() const override { return true; }
  // The bias is best at 1 and so ranks nothing.
  [[nodiscard]] std::vector<MainScore> metrics() const override {
    return {{"log_loss", false}, {"loss", false},        {"accuracy", true},
            {"f1", true},        {"f1_masculine", true}, {"f1_feminine", true}};
  }
  [[nodiscard]] std::vector<std::string> result_files() const override { return {"kaggle.csv"}; }

  [[nodiscard]] std::vector<Tile> tiles(const EvaluationSummary& summary) const override {
    constexpr int kPercent = 100;
    const double bias = summary.at("bias");
    return {{"Log loss", fixed(summary.at("log_loss"), 3)},
            {"Accuracy", fixed(kPercent * summary.at("accuracy"), 1) + " %"},
            {"F1", fixed(kPercent * summary.at("f1"), 1)},
            {"Bias, F1 feminine / masculine", std::isnan(bias) ? "-" : fixed(bias, 2)}};
  }

  void check(const EncoderSpec& config) const override { (void)gap_head_of(config); }

  void configure(EncoderSpec& config, const SampleStore& store) const override {
    const bool segment = kind_ == GapHeadKind::segment;
    if (segment && names_of(config).types.empty()) {
      throw InputError(2,
                       concat("models of the family ", config.family,
                              " have no token types, by which the head segment reads"),
                       "choose --gap-head concat or mul");
    }
    if ((store.schema().back().name == kTokenTypes) != segment) {
      throw InputError(65,
                       concat("the data was prepared ", segment ? "without" : "with",
                              " token types of the mentions, for another --gap-head"),
                       "prepare it again, with --rebuild or in another --store");
    }
    config.head = gap_keys(kind_, config);
    if (segment) config.token_types = kSegmentTypes;
  }

  [[nodiscard]] std::string describe(const EncoderSpec& config) const override {
    return concat("head ", name_of(kind_in(config)));
  }

  [[nodiscard]] TakenWeights taken_weights(const EncoderSpec& stored,
                                           const EncoderSpec& wanted) const override {
    const WeightNames& names = names_of(wanted);
    TakenWeights taken{.optional = {"classifier.", "neither", names.pooler_part()}};
    const std::optional<GapHeadKind> before = gap_head_of(stored);
    const GapHeadKind now = kind_in(wanted);
    if (before == now) return taken;
    taken.replaced = {"classifier.", "neither"};
    if (before) taken.reason = concat("the model's head is ", name_of(*before));
    if (now == GapHeadKind::segment) {
      const std::string types = names.prefix + names.types + ".";
      taken.replaced.push_back(types);
      taken.optional.push_back(types);
      taken.reason = "the head segment has token types of its own";
    }
    return taken;
  }

  void complete_weights(Bert& model,
                        const EncoderSpec& stored,
                        const std::string& path) const override {
    if (kind_in(model.config()) != GapHeadKind::segment) return;
    if (gap_head_of(stored) != GapHeadKind::segment) (void)take_first_token_type(model, path);
  }

  void require_trained(const EncoderSpec& config, const std::string& model) const override {
    if (gap_head_of(config)) return;
    throw InputError(65, concat(model, "/config.json names no head for GAP (gap_head)"),
                     "only a model that was trained with --task gap can be scored");
  }

  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const std::vector<std::string>& /*names*/,
                                                    const EncoderSpec& /*config*/,
                                                    const StoredSplit& scored) const override {
    return make_gap_scorer(scored);
  }

 private:
  GapHeadKind kind_;  // to train
};

}  // namespace

std::shared_ptr<const Task> make_gap_task(const TaskInput& input) {
  return std::make_shared<GapTask>(gap_head_to_train(input));
}

}  // namespace bp::trainer
