// The resource limits (ulimit) of a process, which bprun passes to the ranks on other hosts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bp::launcher {

struct SoftLimit {
  int resource = 0;         // RLIMIT_CORE, for example
  std::uint64_t value = 0;  // RLIM_INFINITY: no limit

  friend bool operator==(const SoftLimit&, const SoftLimit&) = default;
};

// Returns the soft limits of this process, except those on locked memory, processes and priorities:
// these depend on what each host has, not on the user's wish.
[[nodiscard]] std::vector<SoftLimit> travelling_limits();

// Sets each limit, to at most the hard limit of this process. It only makes system calls, so it may
// be called between fork and exec.
void apply_limits(std::span<const SoftLimit> limits);

// Raises this process's limit on open files to its hard limit.
void raise_open_files_limit();

}  // namespace bp::launcher
