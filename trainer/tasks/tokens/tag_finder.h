// Finds the tags of the rows to train on, and what is wrong with a sentence.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/plan.h"
#include "trainer/data/task_data.h"
#include "trainer/tasks/tokens/token_options.h"

namespace bp::trainer {

// The names are "O" and then the other tags by type: O, B-LOC, I-LOC, B-PER. All arguments must
// outlive the result.
[[nodiscard]] std::unique_ptr<RowFinder> make_tag_finder(const Plan& plan,
                                                         const TokenOptions& options,
                                                         Findings& found);

// See TaskData::nothing_to_learn().
[[nodiscard]] Obstacle no_tags_to_learn(const std::vector<std::string>& names);

}  // namespace bp::trainer
