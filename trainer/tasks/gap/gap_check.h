// What is wrong with rows of GAP, and what they hold.
#pragma once

#include <memory>

#include "trainer/data/plan.h"
#include "trainer/data/task_data.h"

namespace bp::trainer {

// `plan` must outlive the results.
[[nodiscard]] std::unique_ptr<RowSurvey> make_gap_survey(const Plan& plan);
[[nodiscard]] std::unique_ptr<RowCheck> make_gap_check(const Plan& plan);

}  // namespace bp::trainer
