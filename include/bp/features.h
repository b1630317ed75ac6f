// Tells which backends and device libraries this process can use, and why not.
#pragma once

#include <string>
#include <vector>

#include "bp/export.h"

namespace BP_API bp {

struct BackendState {
  std::string name;     // as CommunicatorOptions::backend takes it
  std::string problem;  // why it cannot be used here; empty where it can
};

// Returns every backend of this version. It looks for what each backend needs, so the answer holds
// for this process only.
[[nodiscard]] std::vector<BackendState> backend_states();

// A library that bp opens when it is needed first.
struct LibraryState {
  std::string name;     // "CUDA", "NCCL", or "kernels": libbp_cuda.so, bp's own code for devices
  std::string found;    // "2.28.9 (libnccl.so.2)"; empty if it does not load
  std::string problem;  // why it cannot be used here; empty where it can
};

// Returns the libraries for devices. It opens each, so the answer holds for this process only.
[[nodiscard]] std::vector<LibraryState> library_states();

}  // namespace bp
