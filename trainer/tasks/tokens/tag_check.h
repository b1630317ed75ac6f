// The part of `bert_train check` that is about words and their tags.
#pragma once

#include <memory>

#include "trainer/data/plan.h"
#include "trainer/data/task_data.h"

namespace bp::trainer {

// `plan` must outlive the result.
[[nodiscard]] std::unique_ptr<RowCheck> make_tag_check(const Plan& plan);

}  // namespace bp::trainer
