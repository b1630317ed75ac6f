#include "trainer/tasks/regress/regress_input.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "trainer/data/numbers.h"
#include "trainer/data/prepare.h"
#include "trainer/data/token_windows.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/regress/regress_survey.h"
#include "trainer/tasks/regress/scored_numbers.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

// Gives each window of a text the target of its row.
class RegressMaker : public SampleMaker {
 public:
  RegressMaker(const PrepareOptions& prepare, const RegressOptions& options, Tokenizer tokenizer)
      : options_(options), windows_(prepare, std::move(tokenizer)) {}

  void make(Fields fields, SampleSink& sink) override {
    const std::optional<double> target = written_number(fields.back());
    const ArrayView arrays[] = {target.value_or(0.0), std::int64_t{target ? 1 : 0}};
    options_.texts.make(fields, arrays, windows_, sink);
  }

 private:
  const RegressOptions& options_;
  TokenWindows windows_;
};

class RegressInput : public TaskInput {
 public:
  void add_options(OptionSet& set) override {
    options_.texts.add_options(set);
    set.text({"target", "Column or JSON key of the number to predict", "", "COLUMN"},
             options_.target_column);
  }
  std::vector<std::string> score_by(const BertConfig& /*config*/) override { return {}; }
  [[nodiscard]] std::optional<ScoredFile> score(const FileToScore& file,
                                                CsvRows& rows) const override {
    return score_numbers(file, rows);
  }

  [[nodiscard]] std::string name() const override { return "regress"; }
  [[nodiscard]] std::vector<Field> fields() const override {
    std::vector<Field> fields = options_.texts.fields();
    fields.push_back({"target", options_.target_column, true});
    return fields;
  }
  [[nodiscard]] SampleSchema schema() const override {
    SampleSchema schema = {{.name = "target", .element = Element::real}, {.name = "has_target"}};
    options_.texts.add_to(schema);
    return schema;
  }
  [[nodiscard]] std::string_view text(Fields fields, std::string& buffer) const override {
    return options_.texts.text(fields, buffer);
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return {}; }
  [[nodiscard]] std::string describe(const std::vector<std::string>& /*names*/) const override {
    return "";
  }

  [[nodiscard]] std::unique_ptr<RowSurvey> make_survey(const Plan& plan) const override {
    return make_regress_survey(plan);
  }
  [[nodiscard]] std::unique_ptr<RowCheck> make_check(const Plan& plan) const override {
    return make_regress_check(plan);
  }
  [[nodiscard]] std::unique_ptr<SampleMaker> make_maker(const PrepareOptions& prepare,
                                                        const std::vector<std::string>& /*names*/,
                                                        Tokenizer tokenizer) const override {
    return std::make_unique<RegressMaker>(prepare, options_, std::move(tokenizer));
  }

 private:
  RegressOptions options_;
};

}  // namespace

std::shared_ptr<TaskInput> make_regress_input() { return std::make_shared<RegressInput>(); }

}  // namespace bp::trainer
