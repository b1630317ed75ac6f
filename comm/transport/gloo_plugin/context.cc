#include "comm/transport/gloo_plugin/context.h"

#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <csignal>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bp::gloo_plugin {
namespace {

// Gloo's idea of a store, on top of ours. Gloo waits for a key before it gets it: the wait fetches.
class Store : public gloo::rendezvous::Store {
 public:
  explicit Store(const StoreCalls& calls) : calls_(calls) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (!calls_.set(calls_.self, key.c_str(), data.data(), data.size())) {
      throw std::runtime_error("the store refused " + key);
    }
  }
  std::vector<char> get(const std::string& key) override {
    wait({key});
    return fetched_.extract(key).mapped();
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) {
      if (!fetched_.contains(key)) fetch(key);
    }
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);  // the callback has the deadline
  }

 private:
  void fetch(const std::string& key) {
    std::vector<char> value;
    const auto give = [](void* to, const char* data, std::size_t bytes) {
      static_cast<std::vector<char>*>(to)->assign(data, data + bytes);
    };
    if (!calls_.get(calls_.self, key.c_str(), &value, give)) {
      throw std::runtime_error("the store did not give " + key);
    }
    fetched_.insert_or_assign(key, std::move(value));
  }

  const StoreCalls calls_;
  std::map<std::string, std::vector<char>> fetched_;
};

// Gloo writes to sockets without MSG_NOSIGNAL. A program that handles SIGPIPE itself keeps that.
void ignore_sigpipe_unless_handled() {
  struct sigaction current = {};
  if (::sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) {
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  }
}

// Gloo's thread finds a connection locked while a rank's own thread writes to it, and asks again at
// once, without end. Where both share a core it may have driven that very thread off it, until the
// next tick of the clock: 4 ms in place of 0.1. A batch thread drives nobody off. Threads inherit
// their policy, so it is this one's while the device is made.
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
  Store store(options.store);
  mesh->connect(store, std::move(device));
  return mesh;
}

// A wait that times out closes all connections: nothing new can begin on them then.
void break_connections(Mesh& mesh) {
  char nothing = 0;
  const auto buffer = mesh.buffers().transport().createUnboundBuffer(&nothing, 1);
  try {
    buffer->waitRecv(std::chrono::milliseconds(1));
  } catch (const std::exception&) {  // its timeout, as wanted
  }
}

}  // namespace

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}
SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void Mesh::connect(gloo::rendezvous::Store& store,
                   std::shared_ptr<gloo::transport::Device> device) {
  connectFullMesh(store, device);
  buffers_ = std::make_shared<BufferList>(std::move(transportContext_));
  transportContext_ = buffers_;
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

// An abandoned one must be gone from Gloo before the caller's memory is.
Transfer::~Transfer() {
  if (complete_) context_.retire(std::move(buffer_));
}

}  // namespace bp::gloo_plugin
