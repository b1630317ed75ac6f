// Messages between processes over TCP, carried by Gloo. The connection between two ranks is made
// when one of them posts its first transfer with the other (comm/peers/peer_connections.h), which
// waits until then. What goes wrong with a connection fails every transfer over it.
//
// Gloo is in a plugin, because
// libtorch_cpu.so exports its own, newer gloo:: symbols, and a program that links both crashes.
// libbp_gloo.so is opened with RTLD_DEEPBIND and reached only through gloo_plugin/function_table.h.
//
// The plugin is searched in BP_PLUGIN_DIR alone if that is set; else beside libbp_comm.so if a
// program uses that; else beside the program, in the library folder relative to it, and where bp
// was installed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "bp/environment.h"
#include "bp/store.h"
#include "comm/peers/local_address.h"
#include "comm/transport/gloo_plugin/function_table.h"
#include "comm/transport/transport.h"

namespace bp {

class PeerConnections;

struct GlooOptions {
  int rank = 0;
  int size = 1;
  ListenOn listen;
  JobKey key{};
  // For a peer's address, and for the answer of its machine to a connection.
  std::chrono::milliseconds timeout{30'000};
  std::string keys = {};     // each rank publishes its address under this prefix and its number
  bool as_packaged = false;  // keep Gloo's scheduling of its thread, to compare
};

// Opens the plugin at the first call. Throws unavailable, with the folders that were searched, if
// that fails.
const gloo_plugin::Table& load_gloo_plugin();

class GlooTransport : public Transport {
 public:
  // Listens, and publishes the address in `store`, which must outlive this object. Throws
  // unavailable if the plugin cannot be opened, io if this rank cannot listen or Gloo cannot use
  // the address, and what the store throws.
  GlooTransport(const GlooOptions& options, Store& store);
  ~GlooTransport() override;

  [[nodiscard]] int rank() const override { return options_.rank; }
  [[nodiscard]] int size() const override { return options_.size; }
  [[nodiscard]] std::unique_ptr<Transfer> post_receive(int peer,
                                                       std::uint64_t slot,
                                                       std::span<std::byte> into) override;
  [[nodiscard]] std::unique_ptr<Transfer> post_send(int peer,
                                                    std::uint64_t slot,
                                                    std::span<const std::byte> from) override;
  [[nodiscard]] std::optional<Undelivered> deliver(const Deadline& deadline,
                                                   const std::atomic<bool>& stop) override;
  [[nodiscard]] std::optional<LinkState> look(int peer) override;
  [[nodiscard]] int connections() const override;
  void wake() override;

  // Connects to all ranks. Throws timeout, naming those that are missing, and io.
  void connect_all();
  // Runs one of Gloo's own collectives. It needs all connections.
  // Throws TransportFailure.
  void run_native(const gloo_plugin::NativeCall& call);

 private:
  class Message;
  struct Link {
    // Set by a release store once the transfers that waited are posted. From then on, transfers are
    // posted at once.
    std::atomic<bool> is_connected{false};
    bool is_wanted = false;  // guarded by mutex_, as the next
    std::optional<TransportFailure> failure = {};
    std::deque<Message*> waiting = {};  // in the order in which they were posted
  };
  [[nodiscard]] std::unique_ptr<Transfer> post(const gloo_plugin::Posting& posting);
  [[nodiscard]] Link& link(int peer) { return links_[static_cast<std::size_t>(peer)]; }
  // Makes sure that the connection to `peer` will exist once that rank wants it too.
  void want(int peer);
  void connected(int peer, Fd connection);
  void connect_no_more();
  void fail(int peer, const TransportFailure& why);
  // Returns false at the deadline, or if the job has failed. Throws Error.
  [[nodiscard]] bool wait_for(int peer, const Deadline& deadline);
  void cannot_connect(int peer, const std::string& why);

  const GlooOptions options_;
  const gloo_plugin::Table& table_;
  Store& store_;
  const std::unique_ptr<void, void (*)(void*)> context_;
  std::string address_;  // of this rank, for errors
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Link> links_;                       // by rank
  std::unique_ptr<PeerConnections> connections_;  // guarded by mutex_; null once sending has ended
};

}  // namespace bp
