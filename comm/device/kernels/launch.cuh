// How kernels are launched on a CUDA device.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "comm/device/kernels/operations.h"

namespace bp::kernels {

inline constexpr unsigned kThreads = 256;
inline constexpr std::size_t kMostBlocks = 4096;  // more than a device runs at once; each block loops

struct Addresses {
  void* at[kMostRanges];
};

inline Addresses addresses_of(std::span<const Range> ranges) {
  Addresses addresses{};
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    addresses.at[r] = const_cast<void*>(ranges[r].memory);
  }
  return addresses;
}

// Returns how many blocks run `threads` threads.
inline unsigned blocks_of(std::size_t threads) {
  return static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, kMostBlocks));
}

template <class Body>
__global__ void for_each(std::size_t count, const Addresses addresses, const Body body) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    body(i, addresses.at);
  }
}

struct DeviceLauncher {
  template <class Body>
  static Code launch(Stream stream,
                     const char* /*name*/,
                     std::span<const Range> ranges,
                     std::size_t count,
                     const Body& body) {
    if (count == 0) return cudaSuccess;
    for_each<<<blocks_of(count), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        count, addresses_of(ranges), body);
    return cudaGetLastError();
  }
};

}  // namespace bp::kernels
