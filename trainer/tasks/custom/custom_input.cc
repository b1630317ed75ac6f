#include "trainer/tasks/custom/custom_input.h"

#include <exception>
#include <stdexcept>
#include <utility>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/data/plan.h"
#include "trainer/data/prepare.h"
#include "trainer/data/shown_names.h"
#include "trainer/data/source_rows.h"
#include "trainer/data/token_windows.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

class CustomFinder : public RowFinder {
 public:
  CustomFinder(const CustomInput& input, const Plan& plan, Findings& found)
      : input_(input), plan_(plan), found_(found) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const auto names = [&] { return shown_names(input_.task()->answers()); };
    try {
      if (!input_.read_answers(rows.fields()).empty()) return {};
    } catch (const std::exception& error) {
      found_.add(source, rows,
                 {.kind = kWrong,
                  .text = error.what(),
                  .hint = concat("do the options name the columns of ", names(), "?"),
                  .explains = true});
      return {};
    }
    const bool fatal = plan_.sources[source].split != Split::test;
    if (!fatal && !found_.lists()) return {};
    found_.add(source, rows,
               {.kind = kMissing,
                .text = concat("has no ", names()),
                .hint = "remove the row; only a file for --test may have such rows",
                .fatal = fatal});
    return {};
  }

  [[nodiscard]] std::vector<Findings::Line> of_source(std::size_t source) const override {
    return {found_.line(source, kMissing), found_.line(source, kWrong)};
  }

 private:
  static constexpr const char* kMissing = "without answers";
  static constexpr const char* kWrong = "with a wrong answer";

  const CustomInput& input_;
  const Plan& plan_;
  Findings& found_;
};

class CustomMaker : public SampleMaker {
 public:
  CustomMaker(const CustomInput& input,
              const TextColumns& texts,
              const PrepareOptions& prepare,
              Tokenizer tokenizer)
      : input_(input), texts_(texts), windows_(prepare, std::move(tokenizer)) {}

  void make(Fields fields, SampleSink& sink) override {
    const std::vector<double> answers = input_.read_answers(fields);
    std::vector<ArrayView> arrays(answers.begin(), answers.end());
    arrays.resize(input_.task()->answers().size(), ArrayView(0.0));
    arrays.emplace_back(std::int64_t{answers.empty() ? 0 : 1});
    texts_.make(fields, arrays, windows_, sink);
  }

 private:
  const CustomInput& input_;
  const TextColumns& texts_;
  TokenWindows windows_;
};

}  // namespace

CustomInput::CustomInput(std::shared_ptr<const CustomTask> task)
    : task_(std::move(task)), answers_(task_->answers()), columns_(answers_) {}

void CustomInput::add_options(OptionSet& set) {
  texts_.add_options(set);
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    set.text({answers_[i], concat("Column or JSON key of ", answers_[i]), "", "COLUMN"},
             columns_[i]);
  }
}

std::vector<Field> CustomInput::fields() const {
  std::vector<Field> fields = texts_.fields();
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    fields.push_back({answers_[i], columns_[i], true});
  }
  return fields;
}

SampleSchema CustomInput::schema() const {
  SampleSchema schema;
  for (const std::string& answer : answers_) {
    schema.push_back({.name = answer, .element = Element::real});
  }
  schema.push_back({.name = "has_answers"});
  texts_.add_to(schema);
  return schema;
}

Fingerprint CustomInput::fingerprint() const { return {{"version of the task", task_->version()}}; }

std::vector<double> CustomInput::read_answers(Fields fields) const {
  const Fields written = fields.last(answers_.size());
  std::vector<double> answers;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (without_blanks(written[i]).empty()) continue;
    try {
      answers.push_back(task_->read_answer(i, written[i]));
    } catch (const std::exception& error) {
      throw std::invalid_argument(concat(answers_[i], " '", written[i], "' ", error.what()));
    }
  }
  if (answers.empty() || answers.size() == written.size()) return answers;
  throw std::invalid_argument(concat("has only some of ", shown_names(answers_)));
}

std::unique_ptr<RowFinder> CustomInput::make_finder(const Plan& plan, Findings& found) const {
  return std::make_unique<CustomFinder>(*this, plan, found);
}
std::unique_ptr<SampleMaker> CustomInput::make_maker(const PrepareOptions& prepare,
                                                     const std::vector<std::string>& /*names*/,
                                                     Tokenizer tokenizer) const {
  return std::make_unique<CustomMaker>(*this, texts_, prepare, std::move(tokenizer));
}

std::shared_ptr<TaskInput> make_custom_input(const std::shared_ptr<const CustomTask>& task) {
  return std::make_shared<CustomInput>(task);
}

std::vector<double> answers_of(const Sample& sample, std::size_t answers) {
  if (sample.arrays[answers].integers.front() == 0) return {};
  std::vector<double> numbers;
  for (std::size_t i = 0; i < answers; ++i) numbers.push_back(sample.arrays[i].reals.front());
  return numbers;
}

}  // namespace bp::trainer
