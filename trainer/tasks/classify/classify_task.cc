// The task "classify": one label for each text, or several.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/class_scorer.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/tasks/classify/scores.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/linear_head.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

// Returns the weights of --class-weights balanced: for each label of the store rows / (labels *
// rows with the label), as scikit-learn's "balanced" does; 1 for one that no row to train on has.
// `several`: rows have any number of labels; then returns rows without the label / rows with it, so
// that both answers weigh the same in all.
std::vector<double> balanced_weights(const SampleStore& store, bool several) {
  std::vector<double> counts(store.names().size());
  double all = 0;
  const auto count = [&](std::int64_t label) {
    if (label >= 0) ++counts[static_cast<std::size_t>(label)];
  };
  if (several) {
    all = static_cast<double>(store.size(Split::train));
    for (std::int64_t i = 0; i < store.size(Split::train); ++i) {
      const Sample sample = store.load(Split::train, i);
      for (const std::int64_t label : sample.arrays[kLabelArray].integers) count(label);
    }
  } else {
    for (const std::int64_t label : store.integers(Split::train, kLabelArray)) count(label);
    for (const double of_label : counts) all += of_label;
  }
  std::vector<double> weights;
  for (const double own : counts) {
    const double others = all - own;
    const double weight = several ? others / own : all / (static_cast<double>(counts.size()) * own);
    weights.push_back(own == 0 || (several && others == 0) ? 1 : weight);
  }
  return weights;
}

class ClassifyTask : public Task {
 public:
  explicit ClassifyTask(const ClassOptions& options) : options_(options) {}

  [[nodiscard]] HeadMaker head() const override { return classifier_head(options_.loss); }
  [[nodiscard]] bool compares_predictions() const override { return true; }
  [[nodiscard]] Regularization regularization() const override { return options_.regularization; }
  [[nodiscard]] std::string peft_type() const override { return "SEQ_CLS"; }
  [[nodiscard]] std::vector<MainScore> metrics() const override {
    return class_metrics(options_.multi_label);
  }
  [[nodiscard]] std::vector<std::string> result_files() const override {
    return {"classes.csv", "confusion.csv"};
  }

  [[nodiscard]] std::vector<Tile> tiles(const EvaluationSummary& summary) const override {
    constexpr int kPercent = 100;
    constexpr int kDigits = 3;
    if (options_.multi_label) {
      return {{"F1 of all answers", fixed(summary.at("f1_micro"), kDigits)},
              {"F1, mean of labels", fixed(summary.at("f1_macro"), kDigits)},
              {"All labels right", fixed(kPercent * summary.at("subset_accuracy"), 1) + " %"},
              {"Loss", fixed(summary.at("loss"), kDigits)}};
    }
    return {{"Accuracy", fixed(kPercent * summary.at("accuracy"), 1) + " %"},
            {"Matthews correlation", fixed(summary.at("mcc"), kDigits)},
            {"F1, mean of classes", fixed(summary.at("f1_macro"), kDigits)},
            {"Log loss", fixed(summary.at("log_loss"), kDigits)}};
  }

  void check(const EncoderSpec& config) const override { (void)class_config_of(config); }
  void configure(EncoderSpec& config, const SampleStore& store) const override {
    const bool several = options_.multi_label;
    const ClassConfig old = class_config_of(config);
    ClassConfig own{.labels = store.names(),
                    .dropout = old.dropout,
                    .multi_label = several,
                    .threshold = old.threshold};
    if (options_.threshold >= 0) own.threshold = options_.threshold;
    if (options_.loss.balanced) own.weights = balanced_weights(store, several);
    config.head = head_of(own, config);
  }

  [[nodiscard]] std::string describe(const EncoderSpec& config) const override {
    const ClassConfig own = class_config_of(config);
    return concat(own.multi_label ? "any number of " : "", own.labels.size(), " labels");
  }

  [[nodiscard]] TakenWeights taken_weights(const EncoderSpec& stored,
                                           const EncoderSpec& wanted) const override {
    TakenWeights taken{.optional = linear_head_weights(wanted)};
    const std::vector<std::string> labels = class_config_of(stored).labels;
    if (!std::ranges::is_permutation(labels, class_config_of(wanted).labels)) {
      taken.replaced = {taken.optional.front()};
      if (!labels.empty()) taken.reason = "the model's labels are not the data's";
    }
    return taken;
  }

  void complete_weights(Bert& model,
                        const EncoderSpec& stored,
                        const std::string& /*path*/) const override {
    const std::vector<std::string> labels = class_config_of(stored).labels;
    const std::vector<std::string> wanted = class_config_of(model.config()).labels;
    if (labels == wanted || !std::ranges::is_permutation(labels, wanted)) return;
    order_outputs(model, map_labels(wanted, labels, "label"));
  }

  void require_trained(const EncoderSpec& config, const std::string& model) const override {
    if (predicts_number(config)) {
      throw InputError(65, concat("the only output of ", model, " is a number"),
                       "--task regress scores it");
    }
    if (!class_config_of(config).labels.empty()) return;
    throw InputError(65, concat(model, "/config.json names no labels (id2label)"),
                     "only a model for classification can be scored");
  }

  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const std::vector<std::string>& names,
                                                    const EncoderSpec& config,
                                                    const StoredSplit& scored) const override {
    const ClassConfig own = class_config_of(config);
    const double threshold = options_.threshold >= 0 ? options_.threshold : own.threshold;
    return std::make_unique<ClassScorer>(
        ClassScorer::Options{.labels = own.labels,
                             .label_map = map_labels(names, own.labels, "label"),
                             .several = own.multi_label,
                             .threshold = threshold,
                             .separator = options_.label_separator,
                             .top = options_.top,
                             .per = options_.answer_per},
        scored);
  }

 private:
  ClassOptions options_;
};

}  // namespace

std::shared_ptr<const Task> make_classify_task(const TaskInput& input) {
  return std::make_shared<ClassifyTask>(class_options(input));
}

}  // namespace bp::trainer
