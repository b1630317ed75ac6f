// The scores of GAP as a section of report.html.
#pragma once

#include <string>

#include "base/report/section.h"
#include "trainer/tasks/gap/gap_scores.h"

namespace bp::trainer {

// `split`: what was scored, "test".
[[nodiscard]] Section gap_section(const GapTally& tally, const std::string& split);

}  // namespace bp::trainer
