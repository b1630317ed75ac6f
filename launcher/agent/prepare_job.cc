#include "launcher/agent/prepare_job.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "base/system/loopback_check.h"
#include "base/text.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/signals.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

void complete_environment(JobSpec& job) {
  if (!job.whole_environment) {
    job.environment = merged_environment(without_engine(own_environment()), job.environment);
  }
  for (const std::string& entry : job.defaults) {
    if (!find_environment(job.environment, name_of_entry(entry))) {
      job.environment.push_back(entry);
    }
  }
}

}  // namespace

std::variant<Program, StartFailed> prepare_job(JobSpec& job) {
  if (!job.directory.empty()) {
    ::umask(static_cast<mode_t>(job.umask));
    if (::chdir(job.directory.c_str()) != 0) {
      return StartFailed{-1, kExitNoInput,
                         concat("the working directory ", job.directory,
                                " cannot be entered: ", error_text(errno))};
    }
  }
  if (job.directory.empty()) {
    job.ignored_signals = ignored_signals();
  }
  // Its ranks could not connect to each other.
  if (const std::string problem = job.ranks.size() > 1 ? loopback_problem() : "";
      !problem.empty()) {
    return StartFailed{-1, kExitTemporary, concat(problem, " (", kLoopbackFix, ")")};
  }
  complete_environment(job);
  const std::string path(find_environment(job.environment, "PATH").value_or(""));
  const std::string beside = std::filesystem::path(own_program()).parent_path().string();
  Program program = find_program(job.argv.front(), {.path = path, .beside = beside});
  if (program.exit_code != 0) {
    return StartFailed{.exit_code = program.exit_code, .problem = program.problem};
  }
  return program;
}

}  // namespace bp::launcher
