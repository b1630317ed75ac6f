// A run as it could have been, with texts that try to break the page.
#pragma once

#include "trainer/report/report.h"

namespace bp::trainer {

[[nodiscard]] Report sample_report();

// The same with `classes` labels, each taken for others up to six times of forty.
Report sample_report_of(int classes);

}  // namespace bp::trainer
