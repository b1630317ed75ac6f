// Prints the report of `bert_train check`.
#pragma once

#include <string>

#include "trainer/prepare/data_check.h"
#include "trainer/prepare/plan.h"

namespace bp::trainer {

// Returns lines for a terminal of 80 columns, without the last line feed.
[[nodiscard]] std::string data_report(const DataFindings& found, const Plan& plan);

}  // namespace bp::trainer
