// The functions of CUDA's runtime library that bp calls. The library is opened at the first use, so
// a program runs with and without it, and no header of CUDA is needed to compile bp.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <string>

namespace bp {

// Handles and numbers as the library defines them for its C interface, which it keeps.
struct CudaRuntime {
  using Stream = void*;
  using Event = void*;
  using Code = int;

  static constexpr Code kSuccess = 0;
  static constexpr Code kOutOfMemory = 2;
  static constexpr Code kNotReady = 600;
  static constexpr int kAnyDirection = 4;      // of a copy: the addresses tell
  static constexpr unsigned kStreamApart = 1;  // of a stream: not ordered with the default stream
  static constexpr unsigned kEventUntimed = 2;

  Code (*driver_version)(int* version) = nullptr;
  Code (*runtime_version)(int* version) = nullptr;
  Code (*device_count)(int* count) = nullptr;
  Code (*get_device)(int* device) = nullptr;
  Code (*set_device)(int device) = nullptr;
  Code (*bus_id)(char* text, int length, int device) = nullptr;  // "0000:3B:00.0"
  Code (*allocate)(void** memory, std::size_t bytes) = nullptr;
  Code (*free)(void* memory) = nullptr;
  Code (*allocate_on_host)(void** memory, std::size_t bytes, unsigned flags) = nullptr;
  Code (*free_on_host)(void* memory) = nullptr;
  Code (*copy)(void* to, const void* from, std::size_t bytes, int direction, Stream) = nullptr;
  Code (*fill)(void* at, int value, std::size_t bytes, Stream) = nullptr;
  Code (*create_stream)(Stream* stream, unsigned flags) = nullptr;
  Code (*destroy_stream)(Stream) = nullptr;
  Code (*finish_stream)(Stream) = nullptr;
  Code (*create_event)(Event* event, unsigned flags) = nullptr;
  Code (*destroy_event)(Event) = nullptr;
  Code (*record_event)(Event, Stream) = nullptr;
  Code (*query_event)(Event) = nullptr;
  Code (*wait_event)(Stream, Event, unsigned flags) = nullptr;
  const char* (*name_of_error)(Code) = nullptr;
  const char* (*text_of_error)(Code) = nullptr;

  std::string path = {};  // of the library, or its name

  // Returns "cudaErrorNoDevice (no CUDA-capable device is detected)".
  [[nodiscard]] std::string error(Code code) const;
};

// Returns the functions of the library that the program has loaded already, as LibTorch does; else
// of the one that BP_CUDA_RUNTIME names, or that the system finds. Throws `unavailable`, with what
// to do about it, if there is none or it lacks a function.
[[nodiscard]] const CudaRuntime& cuda_runtime();

// Returns why this process has no CUDA device, or "".
[[nodiscard]] std::string find_cuda_problem();

}  // namespace bp
