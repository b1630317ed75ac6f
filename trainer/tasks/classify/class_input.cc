#include "trainer/tasks/classify/class_input.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/data/prepare.h"
#include "trainer/data/token_windows.h"
#include "trainer/tasks/classify/class_check.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/class_survey.h"
#include "trainer/tasks/classify/label_map.h"
#include "trainer/tasks/classify/label_naming.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

// Gives each window of a text the label of its row.
class ClassMaker : public SampleMaker {
 public:
  ClassMaker(const PrepareOptions& prepare,
             const ClassOptions& options,
             const std::vector<std::string>& names,
             Tokenizer tokenizer)
      : options_(options), encoding_(prepare.encoding), windows_(prepare, std::move(tokenizer)) {
    std::int64_t number = 0;
    for (const std::string& name : names) numbers_.emplace(name, number++);
  }

  void make(Fields fields, SampleSink& sink) override {
    const ArrayView label = number_of_label(fields.back());
    options_.texts.make(fields, std::span(&label, 1), windows_, sink);
  }

 private:
  // Returns -1 for a row without label. A file to predict needs no labels: then the file of
  // --label-map need not exist any more.
  [[nodiscard]] std::int64_t number_of_label(std::string_view label) {
    if (label.empty()) return -1;
    if (!naming_) naming_.emplace(options_, encoding_);
    const auto found = numbers_.find(naming_->name_of(label).value_or(""));
    return found == numbers_.end() ? -1 : found->second;
  }

  const ClassOptions& options_;
  std::string encoding_;
  std::optional<LabelNaming> naming_;
  std::unordered_map<std::string, std::int64_t> numbers_;
  TokenWindows windows_;
};

class ClassInput : public TaskInput {
 public:
  void add_options(OptionSet& set) override {
    options_.texts.add_options(set);
    set.text({"label", "Column or JSON key of the label: a name, or a number from 1", "", "COLUMN"},
             options_.label_column);
    set.list({"labels", "The labels, in the order of the model's outputs",
              "those of the rows to train on, sorted"},
             options_.labels);
    set.path(
        {"label-map", "File with a label and the name of its class on each line", "none", "FILE"},
        options_.label_map);
    set.choice<bool>({"unknown-labels", "Refuse data with other labels, or skip such rows"},
                     options_.skip_unknown, {{"refuse", false}, {"skip", true}});
    set.flag({"trim-labels", "Remove blanks around labels"}, options_.label_form.trim);
    set.flag({"round-labels", "Round numeric labels to whole numbers"}, options_.label_form.round);
  }
  void add_training_options(OptionSet& set) override {
    set.number({"label-smoothing", "Share of a label's probability spread over all labels"},
               options_.loss.label_smoothing, 0, 0.999);
    set.number({"focal-gamma", "Gamma of the focal loss; 0: cross entropy"},
               options_.loss.focal_gamma, 0, 100);
    set.choice<bool>({"class-weights", "Weights of labels in the loss; balanced: rare ones more"},
                     options_.loss.balanced, {{"none", false}, {"balanced", true}});
    options_.regularization.add_options(set);
  }
  std::vector<std::string> score_by(const BertConfig& config) override {
    options_.known_labels = class_config_of(config).labels;
    return options_.known_labels;
  }

  [[nodiscard]] std::string name() const override { return "classify"; }
  [[nodiscard]] std::vector<Field> fields() const override {
    std::vector<Field> fields = options_.texts.fields();
    fields.push_back({"label", options_.label_column, true});
    return fields;
  }
  [[nodiscard]] SampleSchema schema() const override {
    SampleSchema schema = {{.name = "label", .padding = -1, .named = true}};
    options_.texts.add_to(schema);
    return schema;
  }

  [[nodiscard]] std::string_view text(Fields fields, std::string& buffer) const override {
    return options_.texts.text(fields, buffer);
  }

  [[nodiscard]] Fingerprint fingerprint() const override {
    Fingerprint print;
    for (std::size_t i = 0; i < options_.known_labels.size(); ++i) {
      print.emplace_back(concat("label ", i, " of the model"), options_.known_labels[i]);
    }
    for (std::size_t i = 0; i < options_.labels.size(); ++i) {
      print.emplace_back(concat("label ", i, " of --labels"), options_.labels[i]);
    }
    if (!options_.label_map.empty()) {
      const FileHash hash = hash_label_map(options_.label_map);
      print.emplace_back("label map", concat(with_commas(hash.size), " bytes, XXH3 ", hash.hex));
    }
    if (options_.skip_unknown) print.emplace_back("rows with other labels", "left out");
    if (options_.label_form.trim) print.emplace_back("blanks around labels", "removed");
    if (options_.label_form.round) print.emplace_back("labels that are numbers", "rounded");
    return print;
  }

  [[nodiscard]] bool has_strata() const override { return true; }
  [[nodiscard]] bool leaves_out_rows() const override { return options_.skip_unknown; }

  [[nodiscard]] std::unique_ptr<RowSurvey> make_survey(const Plan& plan) const override {
    return make_class_survey(plan, options_);
  }
  [[nodiscard]] std::unique_ptr<RowCheck> make_check(const Plan& plan) const override {
    return make_class_check(plan, options_);
  }
  [[nodiscard]] std::unique_ptr<SampleMaker> make_maker(const PrepareOptions& prepare,
                                                        const std::vector<std::string>& names,
                                                        Tokenizer tokenizer) const override {
    return std::make_unique<ClassMaker>(prepare, options_, names, std::move(tokenizer));
  }

  [[nodiscard]] std::string describe(const std::vector<std::string>& names) const override {
    return "labels " + shown_labels(names);
  }

  [[nodiscard]] const ClassOptions& options() const { return options_; }

 private:
  ClassOptions options_;
};

}  // namespace

const ClassOptions& class_options(const TaskInput& input) {
  return dynamic_cast<const ClassInput&>(input).options();
}

std::shared_ptr<TaskInput> make_classify_input() { return std::make_shared<ClassInput>(); }

}  // namespace bp::trainer
