// The head of a program's own task.
#pragma once

#include <memory>

#include "bp/trainer/custom_task.h"
#include "trainer/model/head.h"

namespace bp::trainer {

[[nodiscard]] HeadMaker custom_head(std::shared_ptr<const CustomTask> task);

}  // namespace bp::trainer
