// The tasks of bert_train by name, as far as they need no LibTorch. trainer/tasks/CMakeLists.txt
// lists the tasks; each defines make_NAME_input() and make_NAME_task().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bp/trainer/run.h"
#include "trainer/report/evaluation_summary.h"
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

// Returns the one of `metrics` with this name; the first for an empty name. Throws InputError (2),
// naming the task and all of `metrics`, if there is none.
[[nodiscard]] MainScore choose_metric(const std::vector<MainScore>& metrics,
                                      const std::string& name,
                                      const std::string& task);

}  // namespace bp::trainer
