#include "comm/transport/gloo_plugin/context.h"

#include <gloo/transport/tcp/device.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <utility>

namespace bp::gloo_plugin {
namespace {

// Gloo writes to sockets without MSG_NOSIGNAL. If the program handles SIGPIPE, nothing changes.
void ignore_sigpipe_unless_handled() {
  struct sigaction current = {};
  if (::sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) {
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  }
}

// While a rank's own thread writes to a connection, Gloo's thread finds that connection locked and
// retries in a loop without a pause. If both share a core, Gloo's thread may have preempted the
// writer, which then gets the core back only at the next tick of the clock: after 4 ms instead of
// 0.1. A thread with SCHED_BATCH preempts no other thread. Threads inherit the policy, so this
// thread has it while it creates the device.
std::shared_ptr<gloo::transport::Device> create_with_batch_thread(
    const gloo::transport::tcp::attr& where) {
  int policy = SCHED_OTHER;
  sched_param own{};
  const bool ordinary =
      ::pthread_getschedparam(::pthread_self(), &policy, &own) == 0 && policy == SCHED_OTHER;
  const sched_param none{};
  if (ordinary) ::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &none);
  auto device = gloo::transport::tcp::CreateDevice(where);
  if (ordinary) ::pthread_setschedparam(::pthread_self(), SCHED_OTHER, &none);
  return device;
}

std::shared_ptr<Mesh> connect(const ConnectOptions& options) {
  ignore_sigpipe_unless_handled();
  gloo::transport::tcp::attr where;
  where.iface = options.interface;
  where.hostname = options.address;
  auto device = options.batch_thread ? create_with_batch_thread(where)
                                     : gloo::transport::tcp::CreateDevice(where);
  auto mesh = std::make_shared<Mesh>(options.rank, options.size);
  mesh->setTimeout(std::chrono::milliseconds(options.timeout_ms));
  mesh->open(device);
  return mesh;
}

// Closes all connections, by a wait that times out, so that no transfer can begin any more.
void break_connections(Mesh& mesh) {
  char nothing = 0;
  const auto buffer = mesh.buffers().transport().createUnboundBuffer(&nothing, 1);
  try {
    buffer->waitRecv(std::chrono::milliseconds(1));
  } catch (const std::exception&) {  // the timeout, which is intended
  }
}

}  // namespace

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}
SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void Mesh::open(const std::shared_ptr<gloo::transport::Device>& device) {
  device_ = device;
  buffers_ = std::make_shared<BufferList>(make_transport(device, rank, size, getTimeout()));
  transportContext_ = buffers_;
}

Mesh::~Mesh() {
  if (!buffers_) return;
  try {
    close_connections(*device_, *buffers_, rank);
  } catch (const std::exception&) {  // no descriptor is left, so each connection closes by itself
  }
}

Context::Context(const ConnectOptions& options)
    : gloo_(connect(options)), waits_([this] {
        break_connections(*gloo_);
        gloo_->buffers().call_back();
      }) {}

void Context::retire(std::unique_ptr<gloo::transport::UnboundBuffer> buffer) {
  constexpr std::size_t kKept = 16;
  const std::lock_guard lock(mutex_);
  retired_.push_back(std::move(buffer));
  if (retired_.size() > kKept) retired_.pop_front();
}

Delivery& Context::delivery() {
  if (!delivery_) delivery_.emplace(gloo_->buffers().transport(), gloo_->rank);
  return *delivery_;
}

Transfer::Transfer(Context& context, const Posting& posting)
    : context_(context),
      send_(posting.send),
      buffer_(
          context.gloo()->buffers().transport().createUnboundBuffer(posting.data, posting.bytes)) {
  if (send_) {
    buffer_->send(posting.peer, posting.slot, 0, posting.bytes);
  } else {
    buffer_->recv(posting.peer, posting.slot, 0, posting.bytes);
  }
}

bool Transfer::wait(std::int64_t deadline_ns, const std::atomic<bool>& stop) {
  const Waits::Clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
  complete_ = context_.waits().wait(*buffer_, send_, deadline, stop);
  return complete_;
}

// An incomplete transfer is not retired: Gloo must release its buffer before the caller frees the
// memory.
Transfer::~Transfer() {
  if (complete_) context_.retire(std::move(buffer_));
}

}  // namespace bp::gloo_plugin
