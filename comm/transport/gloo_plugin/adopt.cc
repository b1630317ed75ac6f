#include "comm/transport/gloo_plugin/adopt.h"

#include <fcntl.h>
#include <gloo/common/error.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <utility>

#include "comm/transport/gloo_plugin/tcp_link.h"

namespace bp::gloo_plugin {
namespace {

namespace tcp = gloo::transport::tcp;

// Runs an action on the thread of a device, which does nothing else during that time.
class OnDeviceThread : public tcp::Handler {
 public:
  OnDeviceThread(tcp::Device& device, std::function<void()> action)
      : device_(device), action_(std::move(action)), event_(::eventfd(1, EFD_CLOEXEC)) {
    if (event_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~OnDeviceThread() override { ::close(event_); }

  // Throws what the action throws.
  void run() {
    device_.registerDescriptor(event_, EPOLLIN, this);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    if (thrown_) std::rethrow_exception(thrown_);
  }

  void handleEvents(int) override {
    std::exception_ptr thrown;
    try {
      device_.unregisterDescriptor(event_, this);
      action_();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    thrown_ = thrown;
    done_ = true;
    changed_.notify_all();
  }

 private:
  tcp::Device& device_;
  const std::function<void()> action_;
  const int event_;
  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr thrown_;
};

// While it exists, the thread of a device does not sleep. It takes one turn after another.
class BusyDevice : public tcp::Handler {
 public:
  explicit BusyDevice(tcp::Device& device) : device_(device), event_(::eventfd(1, EFD_CLOEXEC)) {
    if (event_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    device_.registerDescriptor(event_, EPOLLIN, this);
  }
  BusyDevice(const BusyDevice&) = delete;
  BusyDevice& operator=(const BusyDevice&) = delete;
  ~BusyDevice() override {
    std::unique_lock lock(mutex_);
    is_leaving_ = true;
    changed_.wait(lock, [this] { return has_left_; });
    ::close(event_);
  }

  void handleEvents(int) override {
    const std::lock_guard lock(mutex_);
    if (!is_leaving_) return;
    device_.unregisterDescriptor(event_, this);
    has_left_ = true;
    changed_.notify_all();
  }

 private:
  tcp::Device& device_;
  const int event_;
  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  bool is_leaving_ = false;
  bool has_left_ = false;
};

// Must be constructed on the thread of its device.
class AdoptedPair : public tcp::Pair {
 public:
  AdoptedPair(tcp::Context* context,
              tcp::Device* device,
              int rank,
              std::chrono::milliseconds timeout,
              int connection)
      : tcp::Pair(context, device, rank, timeout) {
    const std::lock_guard lock(m_);
    device_->unregisterDescriptor(fd_, this);
    ::close(fd_);
    fd_ = connection;
    keep_alive(fd_);
    try {
      handleConnected();
    } catch (const std::exception&) {  // Gloo asks for the peer's address, and the peer has ended
      ::close(std::exchange(fd_, -1));
      state_ = INITIALIZING;
      signalException(GLOO_ERROR_MSG("Connection closed by peer as soon as it was made"));
    }
  }

  void close() override {
    const std::lock_guard lock(m_);
    if (state_ != CLOSED) changeState(CLOSED);
  }
  [[nodiscard]] int duplicate() {
    const std::lock_guard lock(m_);
    return state_ == CONNECTED ? ::fcntl(fd_, F_DUPFD_CLOEXEC, 0) : -1;
  }
  [[nodiscard]] bool is_writing() {
    const std::lock_guard lock(m_);
    return state_ == CONNECTED && !tx_.empty();
  }
  [[nodiscard]] bool look(LinkState& now) {
    const std::lock_guard lock(m_);
    if (state_ != CONNECTED) return false;
    now = link_state(fd_);
    return true;
  }
};

class AdoptedContext : public tcp::Context {
 public:
  using tcp::Context::Context;

  void add(int peer, int connection) {
    auto& pair = pairs_[static_cast<std::size_t>(peer)];
    OnDeviceThread adoption(*device_, [&] {
      pair = std::make_unique<AdoptedPair>(this, device_.get(), peer, getTimeout(), connection);
    });
    adoption.run();
  }
};

AdoptedPair& adopted(gloo::transport::Context& context, int peer) {
  return dynamic_cast<AdoptedPair&>(*context.getPair(peer));
}

}  // namespace

std::shared_ptr<gloo::transport::Context> make_transport(
    const std::shared_ptr<gloo::transport::Device>& device,
    int rank,
    int size,
    std::chrono::milliseconds timeout) {
  const auto context =
      std::make_shared<AdoptedContext>(std::dynamic_pointer_cast<tcp::Device>(device), rank, size);
  context->setTimeout(timeout);
  return context;
}

void adopt_connection(gloo::transport::Context& transport, int peer, int connection) {
  dynamic_cast<AdoptedContext&>(transport).add(peer, connection);
}

int duplicate_connection(gloo::transport::Context& context, int peer) {
  return context.getPair(peer) ? adopted(context, peer).duplicate() : -1;
}

bool is_writing(gloo::transport::Context& context, int peer) {
  return adopted(context, peer).is_writing();
}

bool look_at_connection(gloo::transport::Context& context, int peer, LinkState& now) {
  return adopted(context, peer).look(now);
}

void close_connections(gloo::transport::Device& device,
                       gloo::transport::Context& context,
                       int rank) {
  const BusyDevice busy(dynamic_cast<tcp::Device&>(device));
  for (int peer = 0; peer < context.size; ++peer) {
    if (const auto& pair = context.getPair(peer); peer != rank && pair) pair->close();
  }
}

}  // namespace bp::gloo_plugin
