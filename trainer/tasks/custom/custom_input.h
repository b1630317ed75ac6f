// The part of a program's own task that needs no LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bp/trainer/custom_task.h"
#include "trainer/data/sample_store.h"
#include "trainer/tasks/task_input.h"
#include "trainer/tasks/text_columns.h"

namespace bp::trainer {

// A sample has an array for each answer, and then 1, or 0 for a row without answers.
class CustomInput : public TaskInput {
 public:
  explicit CustomInput(std::shared_ptr<const CustomTask> task);

  [[nodiscard]] const std::shared_ptr<const CustomTask>& task() const { return task_; }

  void add_options(OptionSet& set) override;

  [[nodiscard]] std::string name() const override { return task_->name(); }
  [[nodiscard]] std::vector<Field> fields() const override;
  [[nodiscard]] SampleSchema schema() const override;
  [[nodiscard]] std::string_view text(Fields fields, std::string& buffer) const override {
    return texts_.text(fields, buffer);
  }
  [[nodiscard]] Fingerprint fingerprint() const override;

  [[nodiscard]] std::unique_ptr<RowFinder> make_finder(const Plan& plan,
                                                       Findings& found) const override;
  [[nodiscard]] std::unique_ptr<SampleMaker> make_maker(const PrepareOptions& prepare,
                                                        const std::vector<std::string>& names,
                                                        Tokenizer tokenizer) const override;

  // Returns the numbers for a row's answers; empty: it has none. Throws invalid_argument with the
  // answer's name for a text that is no answer, and if only some of several answers are missing.
  [[nodiscard]] std::vector<double> read_answers(Fields fields) const;

 private:
  std::shared_ptr<const CustomTask> task_;
  TextColumns texts_;
  std::vector<std::string> answers_;
  std::vector<std::string> columns_;  // of the answers, as the user named them
};

// Returns the answers of a sample of a CustomInput; empty: it has none.
[[nodiscard]] std::vector<double> answers_of(const Sample& sample, std::size_t answers);

}  // namespace bp::trainer
