#include "trainer/tasks/custom/custom_input.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "bp/trainer/custom_task.h"
#include "trainer/common/numbers.h"
#include "trainer/input/shown_names.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/prepare.h"
#include "trainer/prepare/source_rows.h"
#include "trainer/prepare/token_windows.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/task_input.h"
#include "trainer/tasks/text_columns.h"

namespace bp::trainer {
namespace {

// Returns the numbers for a row's answers; empty: it has none. Throws invalid_argument with the
// answer's name for a text that is not an answer, and if only some of several answers are missing.
std::vector<double> read_answers(const CustomTask& task, Fields fields) {
  const std::vector<std::string> names = task.answers();
  const Fields written = fields.last(names.size());
  std::vector<double> answers;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (without_blanks(written[i]).empty()) continue;
    try {
      answers.push_back(task.read_answer(i, written[i]));
    } catch (const std::exception& error) {
      throw std::invalid_argument(concat(names[i], " '", written[i], "' ", error.what()));
    }
  }
  if (answers.empty() || answers.size() == written.size()) return answers;
  throw std::invalid_argument(concat("has only some of ", shown_names(names)));
}

class CustomFinder : public RowFinder {
 public:
  CustomFinder(const CustomTask& task, const Plan& plan, Findings& found)
      : task_(task), plan_(plan), found_(found) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const auto names = [&] { return shown_names(task_.answers()); };
    try {
      if (!read_answers(task_, rows.fields()).empty()) return {};
    } catch (const std::exception& error) {
      found_.add(source, rows,
                 {.kind = kWrong,
                  .text = error.what(),
                  .hint = concat("do the options name the columns of ", names(), "?"),
                  .explains = true});
      return {};
    }
    found_.add(source, rows,
               {.kind = kMissing,
                .text = concat("has no ", names()),
                .hint = "remove the row; only a file for --test may have such rows",
                .fatal = plan_.sources[source].split != Split::test});
    return {};
  }

  [[nodiscard]] std::vector<Findings::Line> of_source(std::size_t source) const override {
    return {found_.line(source, kMissing), found_.line(source, kWrong)};
  }

 private:
  static constexpr const char* kMissing = "without answers";
  static constexpr const char* kWrong = "with a wrong answer";

  const CustomTask& task_;
  const Plan& plan_;
  Findings& found_;
};

class CustomMaker : public SampleMaker {
 public:
  CustomMaker(const CustomTask& task,
              const TextColumns& texts,
              const PrepareOptions& prepare,
              Tokenizer tokenizer)
      : task_(task), texts_(texts), windows_(prepare, std::move(tokenizer)) {}

  void make(Fields fields, const SampleSink& sink) override {
    const std::vector<double> answers = read_answers(task_, fields);
    std::vector<ArrayView> arrays(answers.begin(), answers.end());
    arrays.resize(task_.answers().size(), ArrayView(0.0));
    arrays.emplace_back(std::int64_t{answers.empty() ? 0 : 1});
    texts_.make(fields, arrays, windows_, sink);
  }

 private:
  const CustomTask& task_;
  const TextColumns& texts_;
  TokenWindows windows_;
};

// A sample has an array for each answer, and then 1, or 0 for a row without answers.
class CustomInput : public TaskInput {
 public:
  explicit CustomInput(std::shared_ptr<const CustomTask> task)
      : task_(std::move(task)), answers_(task_->answers()), columns_(answers_) {}

  [[nodiscard]] const std::shared_ptr<const CustomTask>& task() const { return task_; }

  void add_options(OptionSet& set) override {
    texts_.add_options(set);
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      set.text({answers_[i], concat("Column or JSON key of ", answers_[i]), "", "COLUMN"},
               columns_[i]);
    }
  }

  [[nodiscard]] std::string name() const override { return task_->name(); }
  [[nodiscard]] std::vector<Field> fields() const override {
    std::vector<Field> fields = texts_.fields();
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      fields.push_back({answers_[i], columns_[i], true});
    }
    return fields;
  }
  [[nodiscard]] SampleSchema schema() const override {
    SampleSchema schema;
    for (const std::string& answer : answers_) {
      schema.push_back({.name = answer, .element = Element::real});
    }
    schema.push_back({.name = "has_answers"});
    texts_.add_to(schema);
    return schema;
  }
  [[nodiscard]] std::string_view text(Fields fields, std::string& buffer) const override {
    return texts_.text(fields, buffer);
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    return {{"version of the task", task_->version()}};
  }

  [[nodiscard]] std::unique_ptr<RowFinder> make_finder(const Plan& plan,
                                                       Findings& found) const override {
    return std::make_unique<CustomFinder>(*task_, plan, found);
  }
  [[nodiscard]] std::unique_ptr<SampleMaker> make_maker(const PrepareOptions& prepare,
                                                        const std::vector<std::string>& /*names*/,
                                                        Tokenizer tokenizer) const override {
    return std::make_unique<CustomMaker>(*task_, texts_, prepare, std::move(tokenizer));
  }

 private:
  std::shared_ptr<const CustomTask> task_;
  TextColumns texts_;
  std::vector<std::string> answers_;
  std::vector<std::string> columns_;  // of the answers, as the user named them
};

}  // namespace

std::shared_ptr<TaskInput> make_custom_input(const std::shared_ptr<const CustomTask>& task) {
  return std::make_shared<CustomInput>(task);
}

std::shared_ptr<const CustomTask> custom_task_of(const TaskInput& input) {
  const auto* const own = dynamic_cast<const CustomInput*>(&input);
  BP_CHECK(own != nullptr, "an input that belongs to no task");
  return own->task();
}

std::vector<double> answers_of(const Sample& sample, std::size_t answers) {
  if (sample.arrays[answers].integers.front() == 0) return {};
  std::vector<double> numbers;
  for (std::size_t i = 0; i < answers; ++i) numbers.push_back(sample.arrays[i].reals.front());
  return numbers;
}

}  // namespace bp::trainer
