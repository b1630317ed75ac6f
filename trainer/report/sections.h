// The parts of report.html, in reading order. Each returns a piece of HTML, or nothing where a run
// has nothing to show for it.
#pragma once

#include <string>

#include "trainer/report/report.h"

namespace bp::trainer {

inline constexpr int kPercent = 100;

[[nodiscard]] std::string heading_section(const Report& report);     // title, what ran where
[[nodiscard]] std::string tiles_section(const Report& report);       // the numbers asked for first
[[nodiscard]] std::string loss_section(const Report& report);        // train and dev loss
[[nodiscard]] std::string confusion_section(const Report& report);   // matrix
[[nodiscard]] std::string confusions_section(const Report& report);  // of many labels, as a list
[[nodiscard]] std::string classes_section(const Report& report);     // precision, recall, F1
[[nodiscard]] std::string worst_section(const Report& report);
[[nodiscard]] std::string course_section(const Report& report);  // accuracy, norm, rate
[[nodiscard]] std::string time_section(const Report& report);    // where a step's time went
[[nodiscard]] std::string hosts_section(const Report& report);
[[nodiscard]] std::string settings_section(const Report& report);

}  // namespace bp::trainer
