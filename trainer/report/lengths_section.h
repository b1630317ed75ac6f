// The section of report.html with the lengths of the data's samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/report/section.h"

namespace bp::trainer {

struct SplitLengths {
  std::string split = {};                 // "train"
  std::vector<std::int32_t> tokens = {};  // of each sample
  std::string folded = {};                // "22 samples of 3 texts"; empty: as many texts
};

// It is left out if no split has samples.
[[nodiscard]] Section lengths_section(std::vector<SplitLengths> splits);

}  // namespace bp::trainer
