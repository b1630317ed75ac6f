#include "trainer/tasks/classify/classify_task.h"

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/class_scorer.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/tasks/classify/scores.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

// Returns rows / (labels * rows with the label), as scikit-learn's "balanced" does.
std::vector<double> balanced_weights(const SampleStore& store) {
  std::vector<double> counts(store.names().size());
  for (const std::int64_t label : store.integers(Split::train, kLabelArray)) {
    if (label >= 0) ++counts[static_cast<std::size_t>(label)];
  }
  double all = 0;
  for (const double count : counts) all += count;
  std::vector<double> weights;
  for (const double count : counts) {
    // A label may occur only in the dev share.
    weights.push_back(count == 0 ? 1 : all / (static_cast<double>(counts.size()) * count));
  }
  return weights;
}

class ClassifyTask : public Task {
 public:
  explicit ClassifyTask(const ClassOptions& options)
      : loss_(options.loss), regularization_(options.regularization) {}

  [[nodiscard]] HeadMaker head() const override { return classifier_head(loss_); }
  [[nodiscard]] Regularization regularization() const override { return regularization_; }
  [[nodiscard]] MainScore main_score() const override { return {"accuracy", true}; }
  [[nodiscard]] std::vector<std::string> result_files() const override {
    return {"classes.csv", "confusion.csv"};
  }

  [[nodiscard]] std::vector<Tile> tiles(const EvaluationSummary& summary) const override {
    constexpr int kPercent = 100;
    constexpr int kDigits = 3;
    return {{"Accuracy", fixed(kPercent * summary.at("accuracy"), 1) + " %"},
            {"Matthews correlation", fixed(summary.at("mcc"), kDigits)},
            {"F1, mean of classes", fixed(summary.at("f1_macro"), kDigits)},
            {"Log loss", fixed(summary.at("log_loss"), kDigits)}};
  }

  void check(const BertConfig& config) const override { (void)class_config_of(config); }
  void configure(BertConfig& config, const SampleStore& store) const override {
    if (store.names().size() < 2) {
      throw InputError(65, concat("all samples have the same label, '", store.names().front(), "'"),
                       "there is nothing to learn; is --label the right column?");
    }
    ClassConfig own{store.names(), class_config_of(config).dropout};
    if (loss_.balanced) own.weights = balanced_weights(store);
    config.head = head_of(own);
  }

  [[nodiscard]] std::string describe(const BertConfig& config) const override {
    return concat(class_config_of(config).labels.size(), " labels");
  }

  [[nodiscard]] TakenWeights taken_weights(const BertConfig& stored,
                                           const BertConfig& wanted) const override {
    TakenWeights taken{.optional = {"classifier.", "bert.pooler."}};
    const std::vector<std::string> labels = class_config_of(stored).labels;
    if (labels != class_config_of(wanted).labels) {
      taken.replaced = {"classifier."};
      if (!labels.empty()) taken.reason = "the model's labels are not the data's";
    }
    return taken;
  }

  void require_trained(const BertConfig& config, const std::string& model) const override {
    if (!class_config_of(config).labels.empty()) return;
    throw InputError(65, concat(model, "/config.json names no labels (id2label)"),
                     "only a model for classification can be scored");
  }

  [[nodiscard]] std::unique_ptr<Predictor> make_predictor(const std::vector<std::string>& names,
                                                          const BertConfig& config) const override {
    return std::make_unique<ClassPredictor>(predictor(names, config));
  }
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const SampleStore& store,
                                                    Split split,
                                                    const BertConfig& config) const override {
    return std::make_unique<ClassScorer>(store, split, predictor(store.names(), config));
  }

 private:
  static ClassPredictor predictor(const std::vector<std::string>& names, const BertConfig& config) {
    return {class_config_of(config).labels, map_labels(names, config)};
  }

  ClassLossOptions loss_;
  Regularization regularization_;
};

}  // namespace

std::shared_ptr<const Task> make_classify_task(const TaskInput& input) {
  return std::make_shared<ClassifyTask>(class_options(input));
}

std::vector<int> map_labels(const std::vector<std::string>& names, const BertConfig& config) {
  return map_labels(names, class_config_of(config).labels, "label");
}

}  // namespace bp::trainer
