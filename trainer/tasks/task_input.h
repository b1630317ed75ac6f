// The part of a task that needs no LibTorch: its options, and what it makes of the rows of a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options/option_set.h"
#include "trainer/model/config.h"
#include "trainer/prepare/task_data.h"
#include "trainer/tasks/scored_file.h"

namespace bp::trainer {

class CsvRows;

class TaskInput : public TaskData {
 public:
  // Adds the options of all commands that read data: which columns to read, and what becomes of
  // their values. The object must live until they are parsed.
  virtual void add_options(OptionSet& options) = 0;

  // Adds the options of training alone, such as those of the loss.
  virtual void add_training_options(OptionSet& /*options*/) {}

  // The most tokens of a sample unless --max-length says otherwise.
  [[nodiscard]] virtual int usual_length() const { return kUsualLength; }

  // Names the file or store that will be read, once it is known. A task whose samples depend on the
  // kind of file needs it before its schema is asked for.
  virtual void use_data(const std::string& /*path*/) {}

  // Says that rows are to be scored by a model with this configuration: the finder then refuses an
  // answer that the model cannot give. Returns the names that a store of such rows has.
  virtual std::vector<std::string> score_by(const EncoderSpec& /*config*/) { return {}; }

  // Scores the predictions behind the header, which is the current row. Returns nullopt if the
  // header is not that of this task's predictions, or if they do not suffice for its scores. Throws
  // InputError (65) with the line if a row is damaged.
  [[nodiscard]] virtual std::optional<ScoredFile> score(const FileToScore& /*file*/,
                                                        CsvRows& /*rows*/) const {
    return std::nullopt;
  }

 private:
  static constexpr int kUsualLength = 128;
};

}  // namespace bp::trainer
