// Chooses the GPUs that each host of a job gets. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/gpus/gpu.h"

namespace bp::launcher {

struct GpuRequest {
  enum class Kind { all, list, least };
  Kind kind = Kind::all;
  std::vector<int> list = {};  // Kind::list: the GPUs, in this order
  int number = 0;  // Kind::least: the number of GPUs; the least busy by load, then by memory in use
};

// Parses "all", "0,2-3" or "least:2". Throws invalid_argument.
[[nodiscard]] GpuRequest parse_gpu_request(const std::string& text);

struct GpuHost {
  std::string name;
  std::string machine;  // logical hosts of one machine divide its GPUs among them
  // The GPUs that the host list names; they override the request.
  std::optional<std::vector<int>> named;
  std::optional<int> ranks;  // unset: one rank per GPU that it gets
  GpuList available;
  GpuRequest request = {};
};

// Returns the GPUs of each host, one per rank and no more than it has ranks. With `shared`, several
// ranks, also of several hosts of one machine, may use one GPU. Throws unavailable, naming the
// host, if the requested GPUs are not available.
[[nodiscard]] std::vector<std::vector<int>> choose_gpus(const std::vector<GpuHost>& hosts,
                                                        bool shared);

// Returns a warning for each chosen GPU that other processes use.
[[nodiscard]] std::vector<std::string> taken_gpus(const std::vector<GpuHost>& hosts,
                                                  const std::vector<std::vector<int>>& chosen);

}  // namespace bp::launcher
