#include "trainer/tasks/choose_metric.h"

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "trainer/data/shown_names.h"

namespace bp::trainer {

MainScore choose_metric(const std::vector<MainScore>& metrics,
                        const std::string& name,
                        const std::string& task) {
  if (name.empty()) return metrics.front();
  std::vector<std::string> names;
  for (const MainScore& metric : metrics) {
    if (metric.key == name) return metric;
    names.push_back(metric.key);
  }
  const std::string nearest = nearest_name(name, names);
  throw InputError(2,
                   concat("--best-metric: '", name, "' is no score of the task ", task,
                          ", which has ", shown_names(names)),
                   nearest.empty() ? "" : concat("did you mean '", nearest, "'?"));
}

}  // namespace bp::trainer
