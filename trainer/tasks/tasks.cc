#include "trainer/tasks/tasks.h"

#include <string>

#include "base/check.h"

namespace bp::trainer {

std::shared_ptr<const Task> make_task(const TaskInput& input) {
  const std::string name = input.name();
#define BP_TASK(task) \
  if (name == #task) return make_##task##_task(input);
#include "task_list.inc"
#undef BP_TASK
  BP_CHECK(false, "an input that belongs to no task");
}

}  // namespace bp::trainer
