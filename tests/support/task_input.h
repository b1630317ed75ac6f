// The input of a task with options, for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/options/option_set.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {

// Returns the task with these options: input_with("tokens", {"--tag-column", "2"}).
inline std::shared_ptr<TaskInput> input_with(const std::string& task,
                                             const std::vector<std::string>& arguments = {}) {
  std::shared_ptr<TaskInput> input = make_input(task);
  OptionSet options("test", "", "");
  input->add_options(options);
  (void)options.parse(arguments);
  return input;
}

}  // namespace bp::trainer
