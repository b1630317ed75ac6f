// Finds the tags of the rows to train on, and what is wrong with a sentence.
#pragma once

#include <memory>

#include "trainer/data/plan.h"
#include "trainer/data/task_data.h"
#include "trainer/tasks/tokens/token_options.h"

namespace bp::trainer {

// The names are "O" and then the other tags by type: O, B-LOC, I-LOC, B-PER. `plan` and `options`
// must outlive the result.
[[nodiscard]] std::unique_ptr<RowSurvey> make_tag_survey(const Plan& plan,
                                                         const TokenOptions& options);

}  // namespace bp::trainer
