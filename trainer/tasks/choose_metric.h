// The score by which the evaluations of a run are compared.
#pragma once

#include <string>
#include <vector>

#include "trainer/report/evaluation_summary.h"

namespace bp::trainer {

// Returns the one of `metrics` with this name; the first for an empty name. Throws InputError (2),
// naming the task and all of `metrics`, if there is none.
[[nodiscard]] MainScore choose_metric(const std::vector<MainScore>& metrics,
                                      const std::string& name,
                                      const std::string& task);

}  // namespace bp::trainer
