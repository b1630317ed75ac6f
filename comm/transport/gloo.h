// Messages between processes over TCP, carried by Gloo. Gloo is in a plugin, because
// libtorch_cpu.so exports its own, newer gloo:: symbols, and a program that links both crashes.
// libbp_gloo.so is opened with RTLD_DEEPBIND and reached only through gloo_plugin/function_table.h.
//
// The plugin is searched in BP_PLUGIN_DIR alone if that is set; else beside libbp_comm.so if a
// program uses that; else beside the program, in the library folder relative to it, and where bp
// was installed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "bp/environment.h"
#include "bp/store.h"
#include "comm/peers/local_address.h"
#include "comm/transport/gloo_plugin/function_table.h"
#include "comm/transport/transport.h"

namespace bp {

struct GlooOptions {
  int rank = 0;
  int size = 1;
  ListenOn listen;
  JobKey key{};
  std::chrono::milliseconds timeout{30'000};  // for connecting
  bool as_packaged = false;                   // keep Gloo's scheduling of its thread, to compare
};

// Opens the plugin at the first call. Throws unavailable, with the folders that were searched, if
// that fails.
const gloo_plugin::Table& load_gloo_plugin();

class GlooTransport : public Transport {
 public:
  // Connects to all other ranks, which publish their addresses in `store` under their numbers, and
  // passes these connections to Gloo. Throws unavailable if the plugin cannot be opened, what
  // connect_peers() throws (connect_peers.h), and io if Gloo cannot use a connection. Uses
  // `store`, and its failure listener, only during the call.
  GlooTransport(const GlooOptions& options, Store& store);
  ~GlooTransport() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::unique_ptr<Transfer> post_receive(int peer,
                                                       std::uint64_t slot,
                                                       std::span<std::byte> into) override;
  [[nodiscard]] std::unique_ptr<Transfer> post_send(int peer,
                                                    std::uint64_t slot,
                                                    std::span<const std::byte> from) override;
  [[nodiscard]] std::optional<Undelivered> deliver(const Deadline& deadline,
                                                   const std::atomic<bool>& stop) override;
  [[nodiscard]] std::optional<LinkState> look(int peer) override;
  void wake() override;

  // Runs one of Gloo's own collectives. Throws TransportFailure.
  void run_native(const gloo_plugin::NativeCall& call);

 private:
  const int rank_;
  const int size_;
  const gloo_plugin::Table& table_;
  void* const context_;
};

}  // namespace bp
