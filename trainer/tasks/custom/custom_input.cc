#include "trainer/tasks/custom/custom_input.h"

#include <exception>
#include <stdexcept>
#include <utility>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/numbers.h"
#include "trainer/data/prepare.h"
#include "trainer/data/rows_found.h"
#include "trainer/data/shown_names.h"
#include "trainer/data/source_rows.h"
#include "trainer/data/token_windows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

class CustomSurvey : public RowSurvey {
 public:
  CustomSurvey(const CustomInput& input, const Plan& plan) : input_(input), plan_(plan) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const SourceFiles& file = plan_.sources[source];
    std::vector<double> answers;
    try {
      answers = input_.read_answers(rows.fields());
    } catch (const std::exception& error) {
      throw InputError(65, concat(rows.place(), ": ", error.what()),
                       "`check` lists what is wrong with a file");
    }
    if (answers.empty() && file.split != Split::test) {
      throw InputError(65, concat(rows.place(), ": has no ", shown_names(input_.task()->answers())),
                       "remove the row; only a file for --test may have such rows");
    }
    return {};
  }
  void end_source(std::size_t /*source*/, std::int64_t /*rows*/) override {}
  [[nodiscard]] std::vector<std::string> names() const override { return {}; }
  [[nodiscard]] std::vector<std::string> remarks() const override { return {}; }

 private:
  const CustomInput& input_;
  const Plan& plan_;
};

class CustomCheck : public RowCheck {
 public:
  CustomCheck(const CustomInput& input, const Plan& plan)
      : input_(input), plan_(plan), files_(plan.sources.size()) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const auto place = [&] { return rows.place(); };
    File& file = files_[source];
    try {
      if (input_.read_answers(rows.fields()).empty()) file.missing.add(place);
    } catch (const std::exception& error) {
      if (file.wrong.count == 0) file.why = error.what();
      file.wrong.add(place);
    }
    return {};
  }
  [[nodiscard]] std::vector<Line> of_source(std::size_t source) const override {
    return {{"  without answers", files_[source].missing.text()},
            {"  with a wrong answer", files_[source].wrong.text()}};
  }
  [[nodiscard]] std::vector<Line> of_all() const override { return {}; }
  [[nodiscard]] Obstacle obstacle() const override {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const File& file = files_[i];
      if (file.wrong.count > 0) {
        return {concat(counted(file.wrong.count, "row"),
                       " with a wrong answer, the first: ", file.wrong.first, ": ", file.why),
                concat("do the options name the columns of ", shown_names(input_.task()->answers()),
                       "?")};
      }
      if (file.missing.count > 0 && plan_.sources[i].split != Split::test) {
        return {concat(counted(file.missing.count, "row"),
                       " without answers, the first: ", file.missing.first),
                "remove them; only a file for --test may have such rows"};
      }
    }
    return {};
  }

 private:
  struct File {
    RowsFound missing;
    RowsFound wrong;
    std::string why;  // of the first wrong one
  };
  const CustomInput& input_;
  const Plan& plan_;
  std::vector<File> files_;
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

std::unique_ptr<RowSurvey> CustomInput::make_survey(const Plan& plan) const {
  return std::make_unique<CustomSurvey>(*this, plan);
}
std::unique_ptr<RowCheck> CustomInput::make_check(const Plan& plan) const {
  return std::make_unique<CustomCheck>(*this, plan);
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
