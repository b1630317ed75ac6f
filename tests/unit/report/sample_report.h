// A run as it could have been, with texts that try to break the page.
#pragma once

#include "trainer/report/report.h"

namespace bp::trainer {

[[nodiscard]] Report sample_report();

}  // namespace bp::trainer
