#include "comm/transport/faulty.h"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.h"

namespace bp {
namespace {

// A transfer that was dropped and never completes. Threads: one waits, any may wake it.
class DroppedTransfer : public Transfer {
 public:
  explicit DroppedTransfer(std::condition_variable& changed, std::mutex& mutex)
      : changed_(changed), mutex_(mutex) {}
  [[nodiscard]] bool wait(const Deadline& deadline, const std::atomic<bool>& stop) override {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline.at(), [&] { return stop.load(std::memory_order_relaxed); });
    return false;
  }

 private:
  std::condition_variable& changed_;
  std::mutex& mutex_;
};

class FaultyTransport : public Transport {
 public:
  FaultyTransport(std::unique_ptr<Transport> inner, Fault fault)
      : inner_(std::move(inner)), fault_(fault) {}

  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }

  [[nodiscard]] std::unique_ptr<Transfer> post_receive(int peer,
                                                       std::uint64_t slot,
                                                       std::span<std::byte> into) override {
    switch (next()) {
      case Fault::Kind::drop:
        return dropped();
      case Fault::Kind::truncate:
        return inner_->post_receive(peer, slot, into.first(into.size() / 2));
      default:
        return inner_->post_receive(peer, slot, into);
    }
  }
  [[nodiscard]] std::unique_ptr<Transfer> post_receive_at_most(int peer,
                                                               std::uint64_t slot,
                                                               std::span<std::byte> into) override {
    return inner_->post_receive_at_most(peer, slot, into);  // not counted, since posted in advance
  }
  [[nodiscard]] std::unique_ptr<Transfer> post_send(int peer,
                                                    std::uint64_t slot,
                                                    std::span<const std::byte> from) override {
    if (fault_.kind == Fault::Kind::slow) std::this_thread::sleep_for(fault_.delay);
    switch (next()) {
      case Fault::Kind::drop:
        return dropped();
      case Fault::Kind::truncate:
        return inner_->post_send(peer, slot, from.first(from.size() / 2));
      default:
        return inner_->post_send(peer, slot, from);
    }
  }
  [[nodiscard]] std::optional<Undelivered> deliver(const Deadline& deadline,
                                                   const std::atomic<bool>& stop) override {
    return inner_->deliver(deadline, stop);
  }
  [[nodiscard]] std::optional<LinkState> look(int peer) override { return inner_->look(peer); }
  [[nodiscard]] int connections() const override { return inner_->connections(); }
  void wake() override {
    {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    }
    inner_->wake();
  }

 private:
  // Counts an operation and returns what to do wrong with it.
  Fault::Kind next() {
    const std::uint64_t now = operations_.fetch_add(1, std::memory_order_relaxed);
    if (fault_.kind == Fault::Kind::none || now != fault_.at) return Fault::Kind::none;
    if (fault_.kind == Fault::Kind::kill) std::raise(SIGKILL);
    if (fault_.kind == Fault::Kind::delay) std::this_thread::sleep_for(fault_.delay);
    if (fault_.kind == Fault::Kind::fail) {
      throw TransportFailure(ErrorCode::io, concat("operation ", now, " was made to fail"));
    }
    return fault_.kind;
  }
  std::unique_ptr<Transfer> dropped() {
    return std::make_unique<DroppedTransfer>(changed_, mutex_);
  }

  const std::unique_ptr<Transport> inner_;
  const Fault fault_;
  std::atomic<std::uint64_t> operations_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> inner, Fault fault) {
  return std::make_unique<FaultyTransport>(std::move(inner), fault);
}

}  // namespace bp
