// The parts of report.html, in reading order. Each function returns a piece of HTML; empty if the
// run has nothing to show there.
#pragma once

#include <string>

#include "trainer/report/report.h"

namespace bp::trainer {

inline constexpr int kPercent = 100;

[[nodiscard]] std::string heading_section(const Report& report);  // title, and what ran where
[[nodiscard]] std::string tiles_section(const Report& report);    // the most important numbers
[[nodiscard]] std::string loss_section(const Report& report);     // train and dev loss
[[nodiscard]] std::string scores_section(const Report& report);   // every score of each split
[[nodiscard]] std::string course_section(const Report& report);   // accuracy, norm, rate
[[nodiscard]] std::string time_section(const Report& report);     // what a step's time was spent on
[[nodiscard]] std::string hosts_section(const Report& report);
[[nodiscard]] std::string settings_section(const Report& report);

}  // namespace bp::trainer
