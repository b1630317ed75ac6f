// Cuts the power after each operation of a record, and shows what may be left.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "tests/support/files/file_record.h"
#include "tests/support/files/simulated_disk.h"

namespace bp::test {

struct PowerCut {
  std::string folder;     // holds what is left; the test may change it
  std::size_t marks = 0;  // how many of FileRecording's marks came before
};

// Calls `look` with every state in which a power cut at any place of the record may leave the
// folder (SimulatedDisk::after_power_cut), each once for each number of marks. Of writes into one
// file that follow one another only the last is a place. Names operation and state of what fails
// meanwhile. Returns how many states there were.
std::size_t for_each_power_cut(const FileRecord& record,
                               const std::function<void(const PowerCut&)>& look,
                               PowerCutStates states = PowerCutStates::all);

}  // namespace bp::test
