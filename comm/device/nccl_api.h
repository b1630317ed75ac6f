// The functions of NVIDIA's library of collectives, NCCL, that bp calls. The library is opened at
// the first use, so a program runs with and without it, and no header of NCCL is needed to compile
// bp.
//
// Threads: any; a communicator of NCCL is used by one at a time.
#pragma once

#include <climits>
#include <cstddef>
#include <string>

namespace bp {

// Handles, numbers and structures as the library defines them for its C interface, which it keeps.
struct NcclApi {
  using Communicator = void*;
  using Stream = void*;
  using Code = int;

  static constexpr Code kSuccess = 0;
  static constexpr Code kRemoteError = 6;
  static constexpr Code kInProgress = 7;
  static constexpr int kOldestVersion = 21900;  // the first whose communicators need not block
  static constexpr int kUnset = INT_MIN;

  enum Type { i8 = 0, u8 = 1, i32 = 2, i64 = 4, f16 = 6, f32 = 7, f64 = 8, bf16 = 9 };
  // Larger numbers are reductions that create_scaled_sum() has made.
  enum Reduction : int { sum = 0, product = 1, max = 2, min = 3, average = 4 };
  static constexpr int kScalarOnHost = 1;  // read before the call returns

  struct UniqueId {
    char bytes[128];
  };
  // As of 2.19. The library reads `size` bytes of it, and takes the rest as unset.
  struct Config {
    std::size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = kOldestVersion;
    int blocking = kUnset;
    int cluster_size = kUnset;
    int least_blocks = kUnset;
    int most_blocks = kUnset;
    const char* network = nullptr;
    int split_share = kUnset;
    int later = kUnset;  // the compiler's padding, where newer versions have a field
  };

  Code (*version)(int* version) = nullptr;
  Code (*unique_id)(UniqueId* id) = nullptr;
  Code (*init)(Communicator* made, int ranks, UniqueId id, int rank, Config* config) = nullptr;
  Code (*finalize)(Communicator) = nullptr;
  Code (*destroy)(Communicator) = nullptr;
  Code (*abort)(Communicator) = nullptr;
  // A sum of elements that each rank multiplies by its *scalar, of this type, before it adds them.
  Code (*create_scaled_sum)(Reduction* made, void* scalar, Type, int residence, Communicator) =
      nullptr;
  // May be called once the last operation that uses it has begun.
  Code (*destroy_reduction)(Reduction, Communicator) = nullptr;
  Code (*async_error)(Communicator, Code* error) = nullptr;
  const char* (*text_of_error)(Code) = nullptr;
  const char* (*last_error)(Communicator) = nullptr;
  Code (*all_reduce)(
      const void* from, void* to, std::size_t, Type, Reduction, Communicator, Stream) = nullptr;
  Code (*broadcast)(const void* from, void* to, std::size_t, Type, int root, Communicator, Stream) =
      nullptr;
  Code (*reduce)(
      const void* from, void* to, std::size_t, Type, Reduction, int root, Communicator, Stream) =
      nullptr;
  Code (*all_gather)(const void* from, void* to, std::size_t each, Type, Communicator, Stream) =
      nullptr;
  Code (*reduce_scatter)(const void* from,
                         void* to,
                         std::size_t each,
                         Type,
                         Reduction,
                         Communicator,
                         Stream) = nullptr;

  // Null where the library has no such functions: 2.19.1 is the first that has them.
  Code (*allocate)(void** memory, std::size_t bytes) = nullptr;  // on the current device
  Code (*free)(void* memory) = nullptr;
  // Lets operations use memory in place, and not any more.
  Code (*add_buffer)(Communicator, void* memory, std::size_t bytes, void** handle) = nullptr;
  Code (*remove_buffer)(Communicator, void* handle) = nullptr;

  std::string path = {};  // of the library, or its name
  int number = 0;         // its version: 22809 is 2.28.9
};

// Returns the functions of the library that the program has loaded already, as LibTorch does; else
// of the one that BP_NCCL names, or that the system finds. Throws `unavailable`, with what to do
// about it, if there is none, if it is too old or if it lacks a function.
[[nodiscard]] const NcclApi& nccl_api();

// Returns whether the program has loaded NCCL already, or BP_NCCL names it. It opens nothing.
[[nodiscard]] bool is_nccl_at_hand();

// Returns "2.28.9" for 22809.
[[nodiscard]] std::string nccl_version_text(int version);

// Returns why this process cannot use NCCL, for want of a library or a device, and what to do about
// it; or "".
[[nodiscard]] std::string find_nccl_problem();

}  // namespace bp
