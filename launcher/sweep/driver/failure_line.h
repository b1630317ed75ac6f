// Finds the line of a trial's stderr that explains its failure.
#pragma once

#include <cstdint>
#include <string>

namespace bp::launcher::sweep {

struct FailureLine {
  std::string text = {};   // one line; empty if there is none
  std::string said = {};   // the last line of the program that bprun's report quotes, hints aside
  bool lost_host = false;  // bprun reports a host that it lost or did not reach
  std::string host = {};   // that host
};

// Reads the file from byte `offset` on: bprun's report, or the last line that is not empty.
[[nodiscard]] FailureLine read_failure(const std::string& path, std::int64_t offset);

// The same for the text of the file. Pure.
[[nodiscard]] FailureLine failure_line(const std::string& text);

}  // namespace bp::launcher::sweep
