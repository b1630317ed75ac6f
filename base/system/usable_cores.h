// How much of this machine's processors this process can use at a time. Three things limit that:
// the affinity mask, the quotas of the control groups, and hardware threads that share a core.
#pragma once

#include <optional>
#include <string>

namespace bp {

struct UsableCores {
  int threads = 1;              // hardware threads in the calling thread's affinity mask
  int cores = 1;                // the cores to which these belong
  std::optional<double> quota;  // hardware threads' time that the control groups allow

  // The most threads that run at the same time, at least 1.
  [[nodiscard]] int concurrent() const;
  // The threads among which to divide a computation, at least 1: two that share a core do not
  // multiply matrices faster than one, and one too many for the quota stops the others.
  [[nodiscard]] int computing() const;
};

// Returns the hardware threads in the calling thread's affinity mask, at least 1.
[[nodiscard]] int usable_threads();

// Reads files of /proc and /sys below `root`; a test has a tree of its own.
[[nodiscard]] UsableCores usable_cores(const std::string& root = "");

}  // namespace bp
