#include "launcher/protocol/facts.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/system/loopback_check.h"
#include "base/system/usable_cores.h"
#include "base/text.h"
#include "bp/features.h"
#include "launcher/process/environment_list.h"

namespace bp::launcher {
namespace {

using SystemClock = std::chrono::system_clock;

double seconds_of(SystemClock::duration time) {
  return std::chrono::duration<double>(time).count();
}

std::uint64_t value_of(rlim_t limit) { return limit == RLIM_INFINITY ? kUnlimited : limit; }

rlimit limit_of(__rlimit_resource resource) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  return limit;
}

SpaceFacts look_at_space(const std::string& path) {
  SpaceFacts facts{.path = path};
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) {
    facts.problem = error_text(errno);
    return facts;
  }
  facts.free = std::uint64_t{status.f_bavail} * status.f_frsize;
  facts.total = std::uint64_t{status.f_blocks} * status.f_frsize;
  if (::access(path.c_str(), W_OK) != 0) {
    facts.problem = error_text(errno);
  } else if (status.f_files > 0 && status.f_favail == 0) {
    facts.problem = "no room for another file, whatever its size (df -i)";
  }
  return facts;
}

PathFacts look_at_path(const std::string& path, const std::string& directory) {
  PathFacts facts{.path = path};
  // An absolute `path` replaces `directory`.
  const auto place = std::filesystem::path(directory) / path;
  std::error_code error;
  facts.folder = std::filesystem::is_directory(place, error);
  if (!error && !facts.folder) {
    facts.size = std::filesystem::file_size(place, error);
  }
  if (error) {
    facts.problem = error.message();
  } else if (::access(place.c_str(), facts.folder ? R_OK | X_OK : R_OK) != 0) {
    facts.problem = error_text(errno);
  }
  return facts;
}

std::string problem_of_directory(const std::string& directory) {
  return ::access(directory.c_str(), X_OK) == 0 ? "" : error_text(errno);
}

bool has_infiniband() {
  std::error_code none;
  return std::filesystem::exists("/sys/class/infiniband", none) &&
         !std::filesystem::is_empty("/sys/class/infiniband", none);
}

}  // namespace

HostFacts find_facts(const Question& question) {
  const auto asked = SystemClock::now();
  HostFacts facts;
  facts.clock = seconds_of(asked.time_since_epoch());
  facts.cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const UsableCores usable = usable_cores();
  facts.usable_threads = usable.threads;
  facts.usable_cores = usable.cores;
  facts.cpu_quota = usable.quota.value_or(0);
  facts.open_files = value_of(limit_of(RLIMIT_NOFILE).rlim_max);
  facts.locked_memory = value_of(limit_of(RLIMIT_MEMLOCK).rlim_cur);
  facts.infiniband = has_infiniband();
  facts.loopback_problem = bp::loopback_problem();
  facts.directory_problem = problem_of_directory(question.directory);
  for (const char* path : {"/dev/shm", "/tmp"}) {
    facts.spaces.push_back(look_at_space(path));
  }
  if (facts.directory_problem.empty()) {
    facts.spaces.push_back(look_at_space(question.directory));
  }
  for (const std::string& path : question.paths) {
    facts.paths.push_back(look_at_path(path, question.directory));
  }
  if (question.environment) {
    facts.environment = own_environment();
  }
  if (question.gpus) {
    facts.gpus = list_gpus();
  }
  if (!facts.gpus.gpus.empty()) {
    for (const LibraryState& library : library_states()) {
      facts.libraries.push_back(
          {.name = library.name, .found = library.found, .problem = library.problem});
    }
  }
  facts.seconds = seconds_of(SystemClock::now() - asked);
  return facts;
}

}  // namespace bp::launcher
