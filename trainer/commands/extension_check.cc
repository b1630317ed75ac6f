#include "trainer/commands/extension_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/config.h"
#include "trainer/optim/optimizer_names.h"
#include "trainer/optim/schedule.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

bool is_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         std::ranges::all_of(name, fits);
}

// `names`: those of bert_train, and then those of the program.
void check_names(const std::string& what, std::vector<std::string> names) {
  for (const std::string& name : names) {
    if (is_name(name)) continue;
    refuse(concat("the ", what, " '", name,
                  "' needs a name of small letters, digits, - and _, with a letter first"));
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) refuse(concat("two ", what, "s are called '", *twice, "'"));
}

}  // namespace

void check(const Extensions& extensions) {
  check_names("task", task_names(extensions));
  for (const auto& task : extensions.tasks) {
    check_names("answer", task->answers());
    check_names("figure", task->figures());
  }
  std::vector<std::string> models = preset_names();
  for (const CustomModel& own : extensions.models) models.push_back(own.name);
  check_names("model", models);
  check_names("optimizer", optimizer_names(extensions));
  check_names("schedule", schedule_names(extensions));
}

}  // namespace bp::trainer
