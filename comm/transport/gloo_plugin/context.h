// A connected Gloo context, and what can go on in it.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <csignal>
#include <deque>
#include <memory>
#include <mutex>

#include "comm/transport/gloo_plugin/adopt.h"
#include "comm/transport/gloo_plugin/buffer_list.h"
#include "comm/transport/gloo_plugin/table.h"
#include "comm/transport/gloo_plugin/waits.h"

namespace bp::gloo_plugin {

// Threads that begin meanwhile leave the process's signals to the program's own.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_ = {};
};

// A connection to every rank.
class Mesh : public gloo::Context {
 public:
  using gloo::Context::Context;
  void connect(const std::shared_ptr<gloo::transport::Device>& device, Connections& connections);
  // Of which Gloo's collectives make their buffers.
  [[nodiscard]] BufferList& buffers() { return *buffers_; }

 private:
  std::shared_ptr<BufferList> buffers_;
};

class Context {
 public:
  explicit Context(const ConnectOptions& options);

  [[nodiscard]] const std::shared_ptr<Mesh>& gloo() const { return gloo_; }
  [[nodiscard]] Waits& waits() { return waits_; }

  // Takes the buffer of a transfer that is complete, to destroy it later. Gloo's destructor spins
  // until Gloo's thread has let go of the buffer, which that thread does just after it has woken
  // whoever waits; on a shared core it gets no turn while we spin.
  void retire(std::unique_ptr<gloo::transport::UnboundBuffer> buffer);

 private:
  std::shared_ptr<Mesh> gloo_;
  std::mutex mutex_;
  std::deque<std::unique_ptr<gloo::transport::UnboundBuffer>> retired_;  // guarded by mutex_
  Waits waits_;  // after gloo_: its thread uses it
};

// One message. A buffer each: Gloo counts completions by buffer, without saying of what.
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
