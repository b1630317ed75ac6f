#include "trainer/prepare/task_data.h"

#include "base/check.h"
#include "trainer/input/row_reader.h"

namespace bp::trainer {

std::unique_ptr<RowReader> TaskData::open(const std::string& /*path*/,
                                          const PrepareOptions& /*options*/) const {
  BP_CHECK(false, "a task without a format of its own");
}

std::unique_ptr<RowFinder> TaskData::make_finder(const Plan& /*plan*/, Findings& /*found*/) const {
  return std::make_unique<RowFinder>();
}

}  // namespace bp::trainer
