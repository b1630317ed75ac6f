// The section of report.html with the lengths of the data's samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bp::trainer {

struct SplitLengths {
  std::string split = {};                 // "train"
  std::vector<std::int32_t> tokens = {};  // of each sample
  std::string folded = {};                // "22 samples of 3 texts"; empty: as many texts
};

// Returns the section as HTML; empty if no split has samples.
[[nodiscard]] std::string lengths_section(std::vector<SplitLengths> splits);

}  // namespace bp::trainer
