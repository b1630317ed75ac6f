// What ulimit shows of a process, on its way from bprun to the ranks of other hosts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bp::launcher {

struct SoftLimit {
  int resource = 0;         // RLIMIT_CORE and its like
  std::uint64_t value = 0;  // RLIM_INFINITY: none

  friend bool operator==(const SoftLimit&, const SoftLimit&) = default;
};

// Those of this process, but for locked memory, processes and priorities: these are no wish of the
// user's, but what each host has to give.
[[nodiscard]] std::vector<SoftLimit> travelling_limits();

// Sets each as far as the hard limit here goes. Makes system calls only, so that it may be called
// between fork and exec.
void apply_limits(std::span<const SoftLimit> limits);

// Lets this process open as many files as its hard limit goes.
void raise_open_files_limit();

}  // namespace bp::launcher
