// Where the next generation of a job runs: which hosts take part, and which ranks each gets.
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
  // `plan` is that of the first generation. `options` must outlive this.
  RestartPlacement(const Options& options, JobPlan plan);

  [[nodiscard]] const JobPlan& plan() const { return plan_; }
  [[nodiscard]] HostRecord& hosts() { return hosts_; }

  // Looks the hosts up again and places the ranks on them. Leaves out the hosts that are out of
  // reach, and those that failed too often unless the others hold too few ranks. Returns false if
  // all together hold too few, or if the hosts cannot be looked up any more.
  [[nodiscard]] bool place();
  // Why place() returned false, in one line.
  [[nodiscard]] std::string too_few() const;
  // The hosts that plan() leaves out, and why: `before` and a text for each.
  [[nodiscard]] std::string left_out(const std::string& before) const;

 private:
  const Options& options_;
  JobPlan plan_;
  const int least_;  // ranks with which the job may restart
  HostRecord hosts_;
  std::set<std::string> left_out_;
  std::string no_plan_;  // why the hosts could not be looked up; empty: they were
};

// "3 ranks on a:2,b:1"
[[nodiscard]] std::string describe(const std::vector<PlacedHost>& placement);

}  // namespace bp::launcher
