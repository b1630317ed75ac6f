// bprun doctor: checks hosts before a job is started on them. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/ask_hosts.h"

namespace bp::launcher {

enum class Grade { ok, warn, fail };

struct Check {
  std::string topic = {};  // one word
  Grade grade = Grade::ok;
  std::string text = {};
  std::string fix = {};  // what to do about it; empty if the grade is ok
};

struct HostDiagnosis {
  std::string host;
  std::vector<Check> checks;
};

struct Diagnosis {
  std::vector<HostDiagnosis> hosts;
  [[nodiscard]] int count(Grade grade) const;
};

[[nodiscard]] Diagnosis diagnose(const JobPlan& plan, const HostAnswers& asked);

// One line per check, and the totals at the end.
[[nodiscard]] std::string text_of(const Diagnosis& diagnosis);
[[nodiscard]] std::string json_of(const Diagnosis& diagnosis);

}  // namespace bp::launcher
