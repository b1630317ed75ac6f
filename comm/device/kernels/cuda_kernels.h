// The interface of libbp_cuda.so, which holds bp's own code for CUDA devices: a table of functions.
//
// Each function adds work to `stream` of the current device and returns at once, with CUDA's error
// code or kUnsupported. Memory is the device's, aligned to the size of an element. Results are bit
// for bit those of comm/reduce for the same elements, but for the payload of a NaN in f32 or f64.
//
// Threads: any.
#pragma once

#include <cstddef>

#include "bp/types.h"

namespace bp {

// A tensor of a packed vector.
struct CudaPiece {
  std::byte* data = nullptr;
  std::size_t count = 0;  // of elements
};

struct CudaKernels {
  using Code = int;
  using Stream = void*;

  static constexpr int kVersion = 1;
  // The function has nothing for these arguments: they must go through the host.
  static constexpr Code kUnsupported = -1;
  // Most pieces of a call.
  static constexpr std::size_t kMostPieces = 64;

  int version = 0;
  // Multiplies each element by `factor` (comm/reduce/reduce.h: scale).
  Code (*scale)(const View& data, double factor, Stream) = nullptr;
  // Divides each element by `divisor` (finish_average).
  Code (*divide)(const View& data, int divisor, Stream) = nullptr;
  // Converts between f32 and a half (comm/reduce/halves.h).
  Code (*convert)(const View& to, const ConstView& from, Stream) = nullptr;
  // Sets *found, a number on the device, to 1 if an element is infinite or NaN.
  Code (*find_infinite)(const ConstView& data, int* found, Stream) = nullptr;
  // Copies the pieces to `packed`, one behind the other, or back. All are of packed.type.
  Code (*pack)(const View& packed, const CudaPiece* pieces, std::size_t count, Stream) = nullptr;
  Code (*unpack)(const View& packed, const CudaPiece* pieces, std::size_t count, Stream) = nullptr;
};

// The function that the library exports.
using CudaKernelsEntry = const CudaKernels*();
inline constexpr const char* kCudaKernelsEntry = "bp_cuda_kernels";

}  // namespace bp
