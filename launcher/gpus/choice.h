// Which GPUs each host of a job gets. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/gpus/gpu.h"

namespace bp::launcher {

struct GpuRequest {
  enum class Kind { all, list, least };
  Kind kind = Kind::all;
  std::vector<int> list = {};  // of these, in that order
  int number = 0;              // so many of those least at work: by load, then by memory in use
};

// "all", "0,2-3" or "least:2"; throws invalid_argument.
[[nodiscard]] GpuRequest parse_gpu_request(const std::string& text);

struct GpuHost {
  std::string name;
  std::string machine;                    // logical hosts of one machine share its GPUs out
  std::optional<std::vector<int>> named;  // what the host list says, which goes before the request
  std::optional<int> ranks;               // unset: as many as it gets GPUs
  GpuList there;
  GpuRequest request = {};
};

// For each host the GPUs of its ranks, one a rank and no more than it has ranks for. With `shared`,
// a GPU may have several ranks, and be of several hosts of one machine. Throws unavailable, naming
// the host, where what is asked for is not there.
[[nodiscard]] std::vector<std::vector<int>> choose_gpus(const std::vector<GpuHost>& hosts,
                                                        bool shared);

// A line for each chosen GPU that others are at work on.
[[nodiscard]] std::vector<std::string> taken_gpus(const std::vector<GpuHost>& hosts,
                                                  const std::vector<std::vector<int>>& chosen);

}  // namespace bp::launcher
