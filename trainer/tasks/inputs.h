// The tasks of bert_train by name, as far as they need no LibTorch. trainer/tasks/CMakeLists.txt
// lists the tasks; each defines make_NAME_input() and make_NAME_task().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bp/trainer/run.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {

// Of bert_train and of the program that extends it. The first is the default of --task.
[[nodiscard]] std::vector<std::string> task_names(const Extensions& extensions = {});

// Throws InputError (2) with the nearest name if no task has this one.
[[nodiscard]] std::shared_ptr<TaskInput> make_input(const std::string& task,
                                                    const Extensions& extensions = {});

#define BP_TASK(name) [[nodiscard]] std::shared_ptr<TaskInput> make_##name##_input();
#include "task_list.inc"
#undef BP_TASK
[[nodiscard]] std::shared_ptr<TaskInput> make_custom_input(
    const std::shared_ptr<const CustomTask>& task);

}  // namespace bp::trainer
