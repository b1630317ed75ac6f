// The C boundary between bp and libbp_gloo.so. LibTorch exports a newer copy of all gloo:: symbols,
// so bp must reach Gloo only through pointers: no C++ symbol, no exception and no ownership of
// memory crosses this boundary.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bp::gloo_plugin {

inline constexpr std::uint32_t kVersion = 6;  // must change with anything below
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
  bool batch_thread = true;  // Gloo's thread runs with SCHED_BATCH; false: as Gloo starts it
};

struct Posting {
  bool send = false;  // else receive
  std::int32_t peer = 0;
  std::uint64_t slot = 0;
  void* data = nullptr;  // a send only reads it
  std::size_t bytes = 0;
};

// A peer that does not have all bytes that it was sent.
struct Undelivered {
  std::int32_t peer = -1;
  std::size_t bytes = 0;
};

// See LinkState in comm/transport/link_watch.h.
struct LinkState {
  std::uint64_t acknowledged = 0;
  std::uint64_t arrived = 0;
  std::uint64_t in_flight = 0;
  std::int32_t unanswered = 0;
};

// One of Gloo's own collectives.
struct NativeCall {
  enum Kind : std::int32_t { all_reduce, broadcast, all_gather, barrier, reduce_scatter_f32_sum };
  std::int32_t kind = barrier;
  std::uint32_t tag = 0;          // must differ from that of any other call in progress
  std::size_t element_bytes = 1;  // 1, 2, 4 or 8
  const void* input = nullptr;
  std::size_t input_count = 0;
  void* output = nullptr;
  std::size_t output_count = 0;
  std::int32_t root = 0;
  const std::size_t* counts = nullptr;  // elements of each rank, for all_gather, reduce_scatter
  void* reduce_self = nullptr;          // all_reduce passes it to `reduce`: out = a op b
  void (*reduce)(void* self, void* out, const void* a, const void* b, std::size_t n) = nullptr;
  std::int64_t timeout_ms = 0;
  const std::atomic<bool>* stop = nullptr;
};

struct Table {
  std::uint32_t version = kVersion;

  // Makes a context without connections. Returns null on failure.
  void* (*connect)(const ConnectOptions*, Failure*) = nullptr;
  void (*disconnect)(void* context) = nullptr;
  // Gives the context its connection to `peer`, which it owns then. Before that, only look() may
  // name this peer. Returns false on failure.
  bool (*adopt)(void* context, std::int32_t peer, int connection, Failure*) = nullptr;

  // Starts a transfer; returns null on failure. Every transfer, complete or not, must be released
  // before its context is disconnected. After its release its memory is not accessed any more.
  void* (*post)(void* context, const Posting*, Failure*) = nullptr;
  void (*release)(void* transfer) = nullptr;
  // Returns 1 if complete, 0 at the deadline or when *stop is set, -1 on failure.
  std::int32_t (*wait)(void* transfer,
                       std::int64_t deadline_ns,  // of std::chrono::steady_clock
                       const std::atomic<bool>* stop,
                       Failure*) = nullptr;
  // Makes all waits and native calls whose *stop is set return. If a native call was in progress,
  // the context cannot be used any more.
  void (*wake)(void* context) = nullptr;

  // Returns false on failure.
  bool (*run_native)(void* context, const NativeCall*, Failure*) = nullptr;

  // Ends sending, and waits until the peers have all that they were sent (delivery.h). Returns 1
  // then; 0 at the deadline or when *stop is set, with what is left, and may be called again; -1 on
  // failure. Nothing may be posted or adopted any more.
  std::int32_t (*deliver)(void* context,
                          std::int64_t deadline_ns,
                          const std::atomic<bool>* stop,
                          Undelivered* left,
                          Failure*) = nullptr;

  // Writes what the kernel knows of the connection to `peer`. Returns false if it is closed.
  bool (*look)(void* context, std::int32_t peer, LinkState*) = nullptr;
};

using Entry = const Table*();

}  // namespace bp::gloo_plugin
