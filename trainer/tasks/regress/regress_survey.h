// What is wrong with the numbers of a data set, for its preparation and for `bert_train check`.
#pragma once

#include <memory>

#include "trainer/data/plan.h"
#include "trainer/data/task_data.h"

namespace bp::trainer {

// It refuses a target that is not a number, and a row without one, except in a test file. `plan`
// must outlive it.
[[nodiscard]] std::unique_ptr<RowSurvey> make_regress_survey(const Plan& plan);
[[nodiscard]] std::unique_ptr<RowCheck> make_regress_check(const Plan& plan);

}  // namespace bp::trainer
