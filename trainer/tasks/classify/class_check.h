// What `bert_train check` finds about labels.
#pragma once

#include <memory>

#include "trainer/data/plan.h"
#include "trainer/data/task_data.h"
#include "trainer/tasks/classify/label_form.h"

namespace bp::trainer {

// `plan` must outlive it.
[[nodiscard]] std::unique_ptr<RowCheck> make_class_check(const Plan& plan, const LabelForm& form);

}  // namespace bp::trainer
