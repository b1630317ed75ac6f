// Answers an option that a command of bert_train lacks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trainer/options/options.h"

namespace bp::trainer {

// Options of other trainers for which bert_train has no row, and what does their work here. Where
// one of our options has the same meaning, its own row names them (Option::others).
struct ForeignOption {
  std::string_view names;   // with blanks between them, as option_name() returns them
  std::string_view answer;  // a hint
};
[[nodiscard]] std::span<const ForeignOption> foreign_options();

// Returns a hint for `word`, "--Report_to" or a key of a file, or "" if they do not know it.
[[nodiscard]] std::string answer_for_foreign(const std::string& word);
// Returns a hint for an option that another task has, or "".
[[nodiscard]] std::string answer_of_tasks(const std::string& word, const TaskOptions& options);

}  // namespace bp::trainer
