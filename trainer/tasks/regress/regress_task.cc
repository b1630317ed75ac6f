// The task "regress": a number for each text.
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "trainer/report/error_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/linear_head.h"
#include "trainer/tasks/regress/regress_head.h"
#include "trainer/tasks/regress/regress_input.h"
#include "trainer/tasks/regress/regress_scores.h"
#include "trainer/tasks/regress/target_scale.h"
#include "trainer/tasks/scorer.h"
#include "trainer/tasks/tasks.h"
#include "trainer/tasks/text_rows.h"

namespace bp::trainer {
namespace {

class RegressScorer : public Scorer {
 public:
  RegressScorer(const TargetScale& scale, AnswerPer per, const StoredSplit& scored)
      : Scorer(scored), scale_(scale), per_(per) {}

  [[nodiscard]] std::vector<PredictionColumn> columns() const override {
    return {{"target", true}, {"prediction", true}};
  }
  // outputs: [rows, 1]. Keeps them as they are.
  void keep(const Batch& block,
            const at::Tensor& outputs,
            std::vector<float>& kept) const override {
    const auto* numbers = outputs.const_data_ptr<float>();
    kept.insert(kept.end(), numbers, numbers + block.rows);
  }
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override { return 1; }
  [[nodiscard]] bool joins_samples() const override { return per_ == AnswerPer::text; }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override {
    const std::optional<double> target = target_of(sample);
    fields.assign(1, target ? text_of_number(*target) : "");
    fields.push_back(text_of_number(prediction_of(kept.front())));
  }

  // loss (the mean squared error), mae, pearson, spearman.
  [[nodiscard]] EvaluationSummary summary() const override { return summary_of(scores()); }
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override {
    const RegressScores all = scores();
    if (all.samples > 0) return {regress_line(name, all)};
    return unscored(name + ": no targets", predictions);
  }
  [[nodiscard]] Sections sections() const override {
    ErrorRows errors = error_rows(name_of(split()), scored());
    for (ErrorRow& row : errors.rows) row.text = store().text(row.text_id, split());
    return {error_section(errors)};
  }

 private:
  [[nodiscard]] double prediction_of(float output) const {
    return scale_.target_of(double{output});
  }
  // Large numbers need more digits than a float has.
  [[nodiscard]] std::string text_of_number(double number) const {
    return scale_.standardises() ? bp::number_text(number) : concat(static_cast<float>(number));
  }
  // The rows that have a target, in the store's order.
  [[nodiscard]] std::vector<ScoredNumber> scored() const {
    const std::vector<std::size_t> starts = starts_of_rows(split());
    const std::vector<float> outputs = kept_of_rows(kept(), starts);
    std::vector<ScoredNumber> all;
    for (std::size_t row = 0; row < outputs.size(); ++row) {
      const Sample sample = store().load(split(), static_cast<std::int64_t>(starts[row]));
      const std::optional<double> target = target_of(sample);
      if (!target) continue;
      all.push_back({sample.sample_id, sample.text_id, *target, prediction_of(outputs[row])});
    }
    return all;
  }
  [[nodiscard]] RegressScores scores() const {
    std::vector<double> targets;
    std::vector<double> predictions;
    for (const ScoredNumber& one : scored()) {
      targets.push_back(one.target);
      predictions.push_back(one.prediction);
    }
    RegressScores scores = regress_scores(targets, predictions);
    const auto samples = static_cast<std::size_t>(store().size(split()));
    if (starts_of_rows(split()).size() - 1 < samples) scores.rows_are = "texts";
    return scores;
  }

  TargetScale scale_;
  AnswerPer per_;
};

constexpr const char* kRegression = "\"regression\"";

class RegressTask : public Task {
 public:
  explicit RegressTask(AnswerPer per) : per_(per) {}
  [[nodiscard]] HeadMaker head() const override { return make_regress_head; }
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

  void check(const EncoderSpec& config) const override {
    (void)label_config_of(config);
    (void)scale_of(config);
  }

  // transformers gives the only output a name, too. A model that predicts numbers already keeps
  // their scale, for which its head was trained.
  void configure(EncoderSpec& config, const SampleStore& store) const override {
    const TargetScale scale = predicts_number(config) ? scale_of(config) : scale_of(store.names());
    config.head = label_keys({{"LABEL_0"}, label_config_of(config).dropout}, config,
                             "ForSequenceClassification");
    config.head.emplace("problem_type", kRegression);
    config.head.merge(keys_of(scale));
  }

  [[nodiscard]] std::string describe(const EncoderSpec& config) const override {
    const std::string scale = text_of(scale_of(config));
    return scale.empty() ? "a number" : concat("a number, ", scale);
  }

  [[nodiscard]] TakenWeights taken_weights(const EncoderSpec& stored,
                                           const EncoderSpec& wanted) const override {
    TakenWeights taken{.optional = linear_head_weights(wanted)};
    if (!predicts_number(stored)) {
      taken.replaced = {taken.optional.front()};
    } else if (scale_of(stored) != scale_of(wanted)) {
      taken.replaced = {taken.optional.front()};
      taken.reason = "its targets have another scale";
    }
    return taken;
  }

  void require_trained(const EncoderSpec& config, const std::string& model) const override {
    if (predicts_number(config)) return;
    throw InputError(65, concat("problem_type in ", model, "/config.json is not \"regression\""),
                     "only a model that predicts a number can be scored by --task regress");
  }

  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const std::vector<std::string>& /*names*/,
                                                    const EncoderSpec& config,
                                                    const StoredSplit& scored) const override {
    return std::make_unique<RegressScorer>(scale_of(config), per_, scored);
  }

 private:
  AnswerPer per_;
};

}  // namespace

std::shared_ptr<const Task> make_regress_task(const TaskInput& input) {
  return std::make_shared<RegressTask>(regress_options(input).answer_per);
}

}  // namespace bp::trainer
