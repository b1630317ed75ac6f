// What `bert_train check` finds about labels.
#pragma once

#include <memory>

#include "trainer/data/plan.h"
#include "trainer/data/task_data.h"
#include "trainer/tasks/classify/class_input.h"

namespace bp::trainer {

// `plan` must outlive it.
[[nodiscard]] std::unique_ptr<RowCheck> make_class_check(const Plan& plan,
                                                         const ClassOptions& options);

}  // namespace bp::trainer
