// Makes samples of rows for the task "regress": a text and a number. Does not use LibTorch.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "trainer/store/sample_store.h"
#include "trainer/tasks/task_input.h"
#include "trainer/tasks/text_columns.h"
#include "trainer/tasks/text_rows.h"

namespace bp::trainer {

struct RegressOptions {
  TextColumns texts = {};
  std::string target_column = "target";  // by name, or by number from 1; a key in JSON lines
  AnswerPer answer_per = AnswerPer::text;
};

// The options of an input that make_regress_input() has returned.
[[nodiscard]] const RegressOptions& regress_options(const TaskInput& input);

// The first arrays of a sample: the target, and 1, or 0 for a row without a target.
inline constexpr std::size_t kTargetArray = 0;
inline constexpr std::size_t kHasTargetArray = 1;

[[nodiscard]] inline std::optional<double> target_of(const Sample& sample) {
  if (sample.arrays[kHasTargetArray].integers.front() == 0) return std::nullopt;
  return sample.arrays[kTargetArray].reals.front();
}

}  // namespace bp::trainer
