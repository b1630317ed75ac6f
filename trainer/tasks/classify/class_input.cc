#include "trainer/tasks/classify/class_input.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/input/row_reader.h"
#include "trainer/prepare/prepare.h"
#include "trainer/prepare/token_windows.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/label_map.h"
#include "trainer/tasks/classify/label_naming.h"
#include "trainer/tasks/classify/label_remarks.h"
#include "trainer/tasks/classify/token_file.h"
#include "trainer/tasks/classify/token_rows.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

// Gives each window of a text the labels of its row.
class ClassMaker : public SampleMaker {
 public:
  ClassMaker(const PrepareOptions& prepare,
             const ClassOptions& options,
             const std::vector<std::string>& names,
             Tokenizer tokenizer)
      : options_(options), encoding_(prepare.encoding), windows_(prepare, std::move(tokenizer)) {
    std::int32_t number = 0;
    for (const std::string& name : names) numbers_.emplace(name, number++);
  }

  void make(Fields fields, const SampleSink& sink) override {
    read_labels(fields.back());
    ArrayView labels = std::span<const std::int32_t>(labels_);
    if (!options_.multi_label) labels = std::int64_t{labels_.empty() ? -1 : labels_.front()};
    if (has_token_ids(fields)) {
      read_numbers(fields[kTokenIdsField], ids_);
      sink(ids_, std::span(&labels, 1));
      return;
    }
    options_.texts.make(fields, std::span(&labels, 1), windows_, sink);
  }

 private:
  // Sets the numbers of the row's labels that are classes; a file to predict may have others. It
  // needs no labels at all: then the file of --label-map need not exist any more.
  void read_labels(std::string_view written) {
    labels_.clear();
    if (written.empty()) return;
    if (!naming_) naming_.emplace(options_, encoding_);
    RowLabels row(options_, *naming_);
    if (!row.read(written)) return;
    for (const std::string& name : row.names()) {
      const auto found = numbers_.find(name);
      if (found != numbers_.end()) labels_.push_back(found->second);
    }
    std::ranges::sort(labels_);
  }

  const ClassOptions& options_;
  std::string encoding_;
  std::optional<LabelNaming> naming_;
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<std::int32_t> labels_;  // of the current row
  TokenWindows windows_;
  std::vector<std::int32_t> ids_;
};

class ClassInput : public TaskInput {
 public:
  void add_options(OptionSet& set) override {
    options_.texts.add_options(set);
    add_answer_option(set, options_.answer_per);
    set.text({"label", "Column or JSON key of the label: a name, or a number from 1", "", "COLUMN"},
             options_.label_column)
        .others = {"label-column", "label-column-name", "target", "l"};
    set.list({"labels", "The labels, in the order of the model's outputs",
              "those of the rows to train on, sorted"},
             options_.labels)
        .others = {"classes", "class-names", "label-list", "label2id"};
    set.path({"label-map", "File with a label and the name of its class on each line", "none",
              "FILE"},
             options_.label_map)
        .others = {"label-mapping"};
    set.choice<bool>({"unknown-labels", "Refuse data with other labels, or skip such rows"},
                     options_.skip_unknown, {{"refuse", false}, {"skip", true}});
    set.flag({"multi-label", "A row has any number of labels, also none"}, options_.multi_label);
    set.choice<char>({"label-separator", "What is between the labels of a row with --multi-label"},
                     options_.label_separator, label_separators());
    set.number({"threshold", "Least probability of a label to predict it with --multi-label",
                "the model's, or 0.5"},
               options_.threshold, 0, 1);
    set.number({"top", "Write only the N most probable labels of each prediction; 0: all labels"},
               options_.top, 0, 1e6)
        .others = {"top-k", "topk"};
    set.flag({"trim-labels", "Remove blanks around labels"}, options_.label_form.trim).others = {
        "strip-labels"};
    set.flag({"round-labels", "Round numeric labels to whole numbers"}, options_.label_form.round);
  }
  void add_training_options(OptionSet& set) override {
    set.number({"label-smoothing", "Share of a label's probability spread over all labels"},
               options_.loss.label_smoothing, 0, 0.999)
        .others = {"label-smoothing-factor"};
    set.number({"focal-gamma", "Gamma of the focal loss; 0: cross entropy"},
               options_.loss.focal_gamma, 0, 100);
    set.choice<bool>({"class-weights", "Weights of labels in the loss; balanced: rare ones more"},
                     options_.loss.balanced, {{"none", false}, {"balanced", true}});
    options_.regularization.add_options(set);
  }
  std::vector<std::string> score_by(const EncoderSpec& config) override {
    const ClassConfig model = class_config_of(config);
    if (options_.multi_label && !model.multi_label) {
      throw InputError(2, "--multi-label, but the model gives each text one label",
                       "leave it out; a model that is trained with --multi-label gives several");
    }
    options_.multi_label = model.multi_label;
    options_.known_labels = model.labels;
    return options_.known_labels;
  }
  [[nodiscard]] std::optional<ScoredFile> score(const FileToScore& file,
                                                CsvRows& rows) const override {
    return score_labels(file, rows);
  }

  [[nodiscard]] std::string name() const override { return "classify"; }
  [[nodiscard]] std::vector<Field> fields() const override {
    std::vector<Field> fields = options_.texts.fields();
    fields.push_back({"label", options_.label_column, true});
    if (options_.multi_label) fields.back().arrays.joint = options_.label_separator;
    fields.back().arrays.hint = "--multi-label gives a row several labels";
    return fields;
  }
  [[nodiscard]] SampleSchema schema() const override {
    const Shape shape = options_.multi_label ? Shape::ragged : Shape::one;
    SampleSchema schema = {{.name = "label", .shape = shape, .padding = -1, .named = true}};
    options_.texts.add_to(schema);
    return schema;
  }

  [[nodiscard]] std::string_view text(Fields fields, std::string& buffer) const override {
    return has_token_ids(fields) ? fields.front() : options_.texts.text(fields, buffer);
  }

  [[nodiscard]] bool has_own_format(const std::string& path) const override {
    return is_token_file(path);
  }
  [[nodiscard]] std::unique_ptr<RowReader> open(const std::string& path,
                                                const PrepareOptions& prepare) const override {
    if (options_.texts.pairs()) {
      throw InputError(2,
                       concat("--text2 needs two texts a row, and ", path, " has samples of one"),
                       "leave out --text2");
    }
    return open_token_rows(path, prepare);
  }
  [[nodiscard]] FileSplit split_in(const std::string& path) const override {
    return split_of_token_file(path);
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
    if (options_.multi_label) {
      print.emplace_back("labels of a row",
                         concat("several, separated by '", options_.label_separator, "'"));
    }
    if (options_.label_form.trim) print.emplace_back("blanks around labels", "removed");
    if (options_.label_form.round) print.emplace_back("labels that are numbers", "rounded");
    return print;
  }

  [[nodiscard]] bool has_strata() const override { return true; }
  [[nodiscard]] bool leaves_out_rows() const override { return options_.skip_unknown; }

  [[nodiscard]] Obstacle nothing_to_learn(const std::vector<std::string>& names) const override {
    if (names.size() != 1 || options_.multi_label) return {};
    return {concat("all rows have the same label, '", names.front(), "'"),
            "there is nothing to learn; is --label the right column?"};
  }
  [[nodiscard]] std::unique_ptr<RowFinder> make_finder(const Plan& plan,
                                                       Findings& found) const override {
    return make_class_finder(plan, options_, found);
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
