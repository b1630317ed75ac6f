// Messages between processes over TCP by Gloo, which lives in a plugin: libtorch_cpu.so exports its
// own, newer gloo:: symbols, and a program that links both crashes. libbp_gloo.so is opened with
// RTLD_DEEPBIND and reached through gloo_plugin/table.h only.
//
// It is looked for in BP_PLUGIN_DIR, beside the program, in ../lib beside it, and where bp was
// installed.
#pragma once

#include <chrono>
#include <memory>

#include "bp/environment.h"
#include "bp/store.h"
#include "comm/peers/local_address.h"
#include "comm/transport/gloo_plugin/table.h"
#include "comm/transport/transport.h"

namespace bp {

struct GlooOptions {
  int rank = 0;
  int size = 1;
  ListenOn listen;
  JobKey key{};
  std::chrono::milliseconds timeout{30'000};  // for connecting
  bool as_packaged = false;                   // Gloo's thread as Gloo starts it, to compare
};

// Opens the plugin; throws unavailable, with where it was looked for, where that fails.
const gloo_plugin::Table& load_gloo_plugin();

class GlooTransport : public Transport {
 public:
  // Connects to all other ranks, whose addresses are in `store` under their numbers, and hands Gloo
  // those connections alone (comm/peers/connect.h, whose errors it throws). Throws unavailable
  // where the plugin is not there, and io where it fails. `store` is used here only, its failure
  // listener included.
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
  void wake() override;

  // One of Gloo's own collectives. Throws TransportFailure.
  void run_native(const gloo_plugin::NativeCall& call);

 private:
  const int rank_;
  const int size_;
  const gloo_plugin::Table& table_;
  void* const context_;
};

}  // namespace bp
