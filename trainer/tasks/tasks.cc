#include "trainer/tasks/tasks.h"

#include <string>

namespace bp::trainer {

std::shared_ptr<const Task> make_task(const TaskInput& input) {
  const std::string name = input.name();
#define BP_TASK(task) \
  if (name == #task) return make_##task##_task(input);
#include "task_list.inc"
#undef BP_TASK
  return make_custom_task(input);
}

}  // namespace bp::trainer
