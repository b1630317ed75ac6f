#include "trainer/train/loop/sweep_metric.h"

#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "trainer/report/json.h"

namespace bp::trainer {
namespace {

std::string_view metric_of_sweep() {
  const char* const metric = std::getenv("BP_SWEEP_METRIC");
  return metric == nullptr ? "" : metric;
}

}  // namespace

std::string sweep_metric_line(std::string_view metric, const std::string& record) {
  const Json line = parse_own(record);
  const std::string prefix = line.value("split", "train") + "_";
  if (!metric.starts_with(prefix)) return "";
  const auto found = line.find(std::string(metric.substr(prefix.size())));
  if (found == line.end() || !found->is_number()) return "";
  return concat("bp: metric ", found->dump(), " ", count_at(line, "step"), "\n");
}

std::string dev_score_of_sweep() {
  constexpr std::string_view kOfDev = "dev_";
  const std::string_view metric = metric_of_sweep();
  return metric.starts_with(kOfDev) ? std::string(metric.substr(kOfDev.size())) : "";
}

bool is_in_sweep() { return !metric_of_sweep().empty(); }

void tell_sweep(const std::string& record) {
  std::fputs(sweep_metric_line(metric_of_sweep(), record).c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace bp::trainer
