// The C boundary between bp and libbp_gloo.so. LibTorch exports a newer copy of all gloo:: symbols,
// so Gloo may only be reached through pointers: nothing of C++'s linkage crosses here, no exception
// either, and no memory changes hands.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bp::gloo_plugin {

inline constexpr std::uint32_t kVersion = 3;  // of everything below
inline constexpr const char* kEntry = "bp_gloo_plugin";

struct Failure {
  enum Kind : std::int32_t { none, lost, timeout, io };
  std::int32_t kind = none;
  char text[500] = {};
};

struct ConnectOptions {
  std::int32_t rank = 0;
  std::int32_t size = 1;
  const char* interface = "";  // by name, "eth0"; or
  const char* address = "";    // by address
  std::int64_t timeout_ms = 0;
  bool batch_thread = true;  // for Gloo's own thread; false: as Gloo starts it
  // To each rank, and -1 for this one. connect() takes them over, also where it fails.
  const int* connections = nullptr;
};

struct Posting {
  bool send = false;  // else receive
  std::int32_t peer = 0;
  std::uint64_t slot = 0;
  void* data = nullptr;  // of a send, only read
  std::size_t bytes = 0;
};

// One of Gloo's own collectives.
struct NativeCall {
  enum Kind : std::int32_t { all_reduce, broadcast, all_gather, barrier, reduce_scatter_f32_sum };
  std::int32_t kind = barrier;
  std::uint32_t tag = 0;          // differs from that of any other call under way
  std::size_t element_bytes = 1;  // 1, 2, 4 or 8
  const void* input = nullptr;
  std::size_t input_count = 0;
  void* output = nullptr;
  std::size_t output_count = 0;
  std::int32_t root = 0;
  const std::size_t* counts = nullptr;  // all_gather, reduce_scatter: of each rank
  void* reduce_self = nullptr;          // out = a op b, for all_reduce
  void (*reduce)(void* self, void* out, const void* a, const void* b, std::size_t n) = nullptr;
  std::int64_t timeout_ms = 0;
  const std::atomic<bool>* stop = nullptr;
};

struct Table {
  std::uint32_t version = kVersion;

  // Makes a context of connections to all other ranks. Null on failure.
  void* (*connect)(const ConnectOptions*, Failure*) = nullptr;
  void (*disconnect)(void* context) = nullptr;

  // A transfer, or null on failure. Every transfer must be released before its context is
  // disconnected, complete or not; its memory is not touched any more then.
  void* (*post)(void* context, const Posting*, Failure*) = nullptr;
  void (*release)(void* transfer) = nullptr;
  // 1: complete. 0: the deadline passed, or *stop is set. -1: failed.
  std::int32_t (*wait)(void* transfer,
                       std::int64_t deadline_ns,  // of std::chrono::steady_clock
                       const std::atomic<bool>* stop,
                       Failure*) = nullptr;
  // All waiters and native calls whose stop is set return; a native call leaves the context broken.
  void (*wake)(void* context) = nullptr;

  // False on failure.
  bool (*run_native)(void* context, const NativeCall*, Failure*) = nullptr;
};

using Entry = const Table*();

}  // namespace bp::gloo_plugin
