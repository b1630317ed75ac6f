// The part of a program's own task that needs no LibTorch.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "bp/trainer/custom_task.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {

// The task of an input that make_custom_input() has returned.
[[nodiscard]] std::shared_ptr<const CustomTask> custom_task_of(const TaskInput& input);

// A sample has an array for each answer, and then 1, or 0 for a row without answers. Returns the
// answers; empty: it has none.
[[nodiscard]] std::vector<double> answers_of(const Sample& sample, std::size_t answers);

}  // namespace bp::trainer
