// The tasks of bert_train: what a model is trained for. See inputs.h.
#pragma once

#include <memory>

#include "trainer/tasks/task.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {

// Returns the task whose input this is, which make_input() has returned.
[[nodiscard]] std::shared_ptr<const Task> make_task(const TaskInput& input);

#define BP_TASK(name) \
  [[nodiscard]] std::shared_ptr<const Task> make_##name##_task(const TaskInput& input);
#include "task_list.inc"
#undef BP_TASK
// The task of an input that make_custom_input() has returned.
[[nodiscard]] std::shared_ptr<const Task> make_custom_task(const TaskInput& input);

}  // namespace bp::trainer
