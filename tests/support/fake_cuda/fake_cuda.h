// Functions of the fake CUDA runtime that the real one does not have. Find them by dlsym().
//
// The fake takes its settings from variables: FAKE_CUDA_DEVICES, how many devices there are (1),
// and CUDA_VISIBLE_DEVICES, which of them it shows (all); FAKE_CUDA_MEMORY, the bytes that a
// process can allocate on them together (16 GiB); FAKE_CUDA_FAIL=NAME:N:CODE:TIMES, the call of
// the function NAME from which on it returns CODE, and how often (without :TIMES always);
// FAKE_CUDA_SEED, the seed of the delays of its streams; FAKE_CUDA_DELAY_US, a bound in
// microseconds that no delay reaches (100; 0: no delays); FAKE_CUDA_COPY_MS, the time of each copy.
#pragma once

#include <cstddef>
#include <cstdint>

// Memory that a kernel touches.
struct FakeCudaRange {
  const void* memory;
  std::size_t bytes;
  bool writes;
};

// A copy between a device and the host.
struct FakeCudaCopy {
  bool to_host;
  std::size_t bytes;
  std::int64_t begin;  // of one clock, in nanoseconds
  std::int64_t end;
};

extern "C" {
// Writes up to `most` of the last copies that are done, and returns how many.
using FakeCudaCopies = std::size_t(FakeCudaCopy* copies, std::size_t most);
// Returns how many bytes of host memory are pinned.
using FakeCudaPinned = std::size_t();

// Adds work to the stream that takes this time.
using FakeCudaPause = void(void* stream, int milliseconds);

// Adds a kernel to the stream: `work`, which gets the addresses at which it may touch the ranges.
// Returns CUDA's code for a stream that does not exist, and for a range beyond an allocation.
using FakeCudaKernel = void(void* const* ranges, void* argument);
using FakeCudaLaunch = int(void* stream,
                           const char* name,
                           const FakeCudaRange* ranges,
                           std::size_t count,
                           FakeCudaKernel* work,
                           void* argument);
}
inline constexpr const char* kFakeCudaPause = "fake_cuda_pause";
inline constexpr const char* kFakeCudaCopies = "fake_cuda_copies";
inline constexpr const char* kFakeCudaPinned = "fake_cuda_pinned";
inline constexpr const char* kFakeCudaLaunch = "fake_cuda_launch";
