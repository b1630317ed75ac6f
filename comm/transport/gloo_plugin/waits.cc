#include "comm/transport/gloo_plugin/waits.h"

#include <algorithm>
#include <utility>

namespace bp::gloo_plugin {
namespace {

// Gloo wants a finite time; ours ends the wait long before.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

}  // namespace

// An entry for as long as a wait lasts.
class Waits::Registration {
 public:
  Registration(Waits& waits, Entry entry) : waits_(waits) {
    const std::lock_guard lock(waits_.mutex_);
    place_ = waits_.entries_.insert(waits_.entries_.end(), entry);
    // Set before wake() takes the mutex, so either we see it here or wake() sees the entry.
    if (entry.stop->load(std::memory_order_acquire)) waits_.entries_.back().deadline = Clock::now();
    if (waits_.entries_.back().deadline < waits_.next_ring_) waits_.changed_.notify_one();
  }
  ~Registration() {
    const std::lock_guard lock(waits_.mutex_);
    waits_.entries_.erase(place_);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  Waits& waits_;
  Place place_;
};

Waits::Waits(std::function<void()> give_up)
    : give_up_(std::move(give_up)), alarm_([this] { ring(); }) {}

Waits::~Waits() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_one();
  }
  alarm_.join();
}

bool Waits::wait(gloo::transport::UnboundBuffer& buffer,
                 bool send,
                 Clock::time_point deadline,
                 const std::atomic<bool>& stop) {
  const Registration registration(*this, {&buffer, send, deadline, &stop});
  return send ? buffer.waitSend(kForever) : buffer.waitRecv(kForever);
}

void Waits::run(const std::function<void()>& action, const std::atomic<bool>& stop) {
  const Registration registration(*this, {nullptr, false, Clock::time_point::max(), &stop});
  action();
}

// A buffer serves one transfer, so a call that comes too late meets nobody. Who has no buffer of
// ours (run()) is called back by the alarm thread, as that takes a while.
void Waits::call_back(Entry& entry) {
  entry.deadline = Clock::time_point::max();
  giving_up_ = giving_up_ || entry.buffer == nullptr;
  if (entry.buffer == nullptr) return;
  entry.send ? entry.buffer->abortWaitSend() : entry.buffer->abortWaitRecv();
}

void Waits::wake() {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.stop->load(std::memory_order_acquire)) call_back(entry);
  }
  if (giving_up_) changed_.notify_one();
}

void Waits::ring() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    const auto now = Clock::now();
    next_ring_ = Clock::time_point::max();
    for (Entry& entry : entries_) {
      if (entry.deadline <= now) call_back(entry);
      next_ring_ = std::min(next_ring_, entry.deadline);
    }
    if (std::exchange(giving_up_, false)) {
      lock.unlock();
      give_up_();
      lock.lock();
      continue;
    }
    // Not longer than an hour: time_point::max() overflows inside wait_until.
    changed_.wait_until(lock, std::min(next_ring_, now + std::chrono::hours(1)));
  }
}

}  // namespace bp::gloo_plugin
