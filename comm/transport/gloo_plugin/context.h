// A Gloo context, and the operations on it.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "comm/transport/gloo_plugin/adopt.h"
#include "comm/transport/gloo_plugin/buffer_list.h"
#include "comm/transport/gloo_plugin/delivery.h"
#include "comm/transport/gloo_plugin/function_table.h"
#include "comm/transport/gloo_plugin/waits.h"

namespace bp::gloo_plugin {

// Blocks all signals while it exists. Threads that start during that time inherit this, so the
// process's signals go to the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_ = {};
};

// A Gloo context. It gets its connections one by one.
class Mesh : public gloo::Context {
 public:
  using gloo::Context::Context;
  ~Mesh() override;
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;
  void open(const std::shared_ptr<gloo::transport::Device>& device);
  void adopt(int peer, int connection) {
    adopt_connection(buffers_->transport(), peer, connection);
  }
  // The transport from which Gloo's collectives create their buffers.
  [[nodiscard]] BufferList& buffers() { return *buffers_; }

 private:
  std::shared_ptr<BufferList> buffers_;
};

class Context {
 public:
  explicit Context(const ConnectOptions& options);

  [[nodiscard]] const std::shared_ptr<Mesh>& gloo() const { return gloo_; }
  [[nodiscard]] Waits& waits() { return waits_; }

  // Takes the buffer of a complete transfer and destroys it later. The buffer's destructor spins
  // until Gloo's thread releases the buffer, which it does just after it has woken the waiter. If
  // both share a core, Gloo's thread cannot run while the destructor spins.
  void retire(std::unique_ptr<gloo::transport::UnboundBuffer> buffer);

  // The caller is one thread.
  [[nodiscard]] Delivery& delivery();

 private:
  std::shared_ptr<Mesh> gloo_;
  std::mutex mutex_;
  std::deque<std::unique_ptr<gloo::transport::UnboundBuffer>> retired_;  // guarded by mutex_
  Waits waits_;  // after gloo_: its thread uses it
  std::optional<Delivery> delivery_;
};

// One message. Each has its own buffer, because Gloo counts completions per buffer without saying
// which transfer is complete.
class Transfer {
 public:
  Transfer(Context& context, const Posting& posting);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  bool wait(std::int64_t deadline_ns, const std::atomic<bool>& stop);

 private:
  Context& context_;
  const bool send_;
  bool complete_ = false;
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
};

void run_native(Context& context, const NativeCall& call);

}  // namespace bp::gloo_plugin
