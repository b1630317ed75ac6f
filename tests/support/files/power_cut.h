// Cuts the power after each operation of a record and shows what may be left.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "tests/support/files/file_record.h"
#include "tests/support/files/simulated_disk.h"

namespace bp::test {

struct PowerCut {
  std::string folder;     // holds what is left; the test may change it
  std::size_t marks = 0;  // the number of FileRecording's marks before the cut
};

// Calls `look` with every state that a power cut at any point of the record may leave in the folder
// (SimulatedDisk::after_power_cut), once for each state and number of marks. Of consecutive writes
// to one file, only the last is such a point. A failure inside `look` names the operation and the
// state. Returns the number of states.
std::size_t for_each_power_cut(const FileRecord& record,
                               const std::function<void(const PowerCut&)>& look,
                               PowerCutStates states = PowerCutStates::all);

}  // namespace bp::test
