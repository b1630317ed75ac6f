// The variable by which ranks know how much work a rank of each host should take, "1,0.5".
#pragma once

namespace bp {

// Set by bprun for all ranks, in the order of the hosts; 1 for a host without a weight.
inline constexpr const char* kHostWeights = "BP_HOST_WEIGHTS";

}  // namespace bp
