// A realistic report whose texts try to break the page.
#pragma once

#include "trainer/report/report.h"

namespace bp::trainer {

[[nodiscard]] Report sample_report();

// The same report with `classes` labels. Each label is confused with others up to six times in
// forty.
Report sample_report_of(int classes);

}  // namespace bp::trainer
