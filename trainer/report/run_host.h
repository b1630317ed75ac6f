// A host of a run, for the report.
#pragma once

#include <string>

namespace bp::trainer {

struct RunHost {
  std::string name = {};
  int ranks = 1;
};

}  // namespace bp::trainer
