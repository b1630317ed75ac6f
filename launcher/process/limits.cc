#include "launcher/process/limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>

namespace bp::launcher {

std::vector<SoftLimit> travelling_limits() {
  static constexpr std::array kTravel{RLIMIT_CPU,  RLIMIT_FSIZE,  RLIMIT_DATA, RLIMIT_STACK,
                                      RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_AS};
  std::vector<SoftLimit> limits;
  for (const auto resource : kTravel) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) == 0) {
      limits.push_back({.resource = static_cast<int>(resource), .value = limit.rlim_cur});
    }
  }
  return limits;
}

void apply_limits(std::span<const SoftLimit> limits) {
  for (const SoftLimit& wanted : limits) {
    const auto resource = static_cast<__rlimit_resource>(wanted.resource);
    rlimit limit{};
    if (::getrlimit(resource, &limit) == 0) {
      limit.rlim_cur = std::min<rlim_t>(wanted.value, limit.rlim_max);
      ::setrlimit(resource, &limit);
    }
  }
}

void raise_open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace bp::launcher
