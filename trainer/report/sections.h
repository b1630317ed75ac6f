// The sections of report.html about the course of a run. One without values to show is left out.
#pragma once

#include "trainer/report/report.h"

namespace bp::trainer {

[[nodiscard]] Section loss_section(const Report& report);    // train and dev loss
[[nodiscard]] Section course_section(const Report& report);  // accuracy, norm, rate
[[nodiscard]] Section time_section(const Report& report);    // what a step's time was spent on

}  // namespace bp::trainer
