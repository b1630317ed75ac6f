// Where the next generation of a job runs: on the hosts that are there and fit for it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/failure/host_record.h"
#include "launcher/plan/plan.h"

namespace bp::launcher {

class RestartPlacement {
 public:
  // `options` must outlive it. `plan`: of the first generation.
  RestartPlacement(const Options& options, JobPlan plan);

  [[nodiscard]] const JobPlan& plan() const { return plan_; }
  [[nodiscard]] HostRecord& hosts() { return hosts_; }

  // Places the ranks anew, on all hosts but those out of reach and those that failed too often; the
  // latter stay where the others hold too few ranks. False where that too is too few, or where the
  // hosts cannot be looked up any more.
  [[nodiscard]] bool place();
  // Why place() said no, in a line.
  [[nodiscard]] std::string too_few() const;
  // Who has no part in plan(), and why; a line each, begun by `before`.
  [[nodiscard]] std::string left_out(const std::string& before) const;

 private:
  const Options& options_;
  JobPlan plan_;
  const int least_;  // ranks
  HostRecord hosts_;
  std::set<std::string> left_out_;
  std::string no_plan_;  // why there is none
};

// "3 ranks on a:2,b:1"
[[nodiscard]] std::string describe(const std::vector<PlacedHost>& placement);

}  // namespace bp::launcher
