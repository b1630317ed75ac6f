#include "trainer/tasks/inputs.h"

#include <optional>

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "trainer/input/shown_names.h"
#include "trainer/report/csv_rows.h"
#include "trainer/tasks/scored_file.h"

namespace bp::trainer {
namespace {

struct Entry {
  const char* name;
  std::shared_ptr<TaskInput> (*make)();
};

#define BP_TASK(name) {#name, make_##name##_input},
constexpr Entry kInputs[] = {
#include "task_list.inc"
};
#undef BP_TASK

}  // namespace

std::vector<std::string> task_names(const Extensions& extensions) {
  std::vector<std::string> names;
  for (const Entry& entry : kInputs) names.emplace_back(entry.name);
  for (const auto& task : extensions.tasks) names.push_back(task->name());
  return names;
}

std::shared_ptr<TaskInput> make_input(const std::string& task, const Extensions& extensions) {
  for (const Entry& entry : kInputs) {
    if (task == entry.name) return entry.make();
  }
  for (const auto& own : extensions.tasks) {
    if (task == own->name()) return make_custom_input(own);
  }
  const std::vector<std::string> names = task_names(extensions);
  throw InputError(2, concat("--task: '", task, "' is none of ", shown_names(names)),
                   did_you_mean(task, names));
}

std::optional<ScoredFile> score_file(const FileToScore& file) {
  CsvRows rows(file.path);
  if (!rows.next()) throw InputError(65, file.path + " is empty", "name a predictions.csv");
  for (const Entry& entry : kInputs) {
    std::optional<ScoredFile> scored = entry.make()->score(file, rows);
    if (scored) return scored;
  }
  return std::nullopt;
}

MainScore choose_metric(const std::vector<MainScore>& metrics,
                        const std::string& name,
                        const std::string& task) {
  if (name.empty()) return metrics.front();
  std::vector<std::string> names;
  for (const MainScore& metric : metrics) {
    if (metric.key == name) return metric;
    names.push_back(metric.key);
  }
  throw InputError(2,
                   concat("--best-metric: '", name, "' is not a score of the task ", task,
                          ", which has ", shown_names(names)),
                   did_you_mean(name, names));
}

}  // namespace bp::trainer
