#include "comm/transport/gloo_plugin/waits.h"

#include <algorithm>
#include <utility>

namespace bp::gloo_plugin {
namespace {

// Gloo needs a finite timeout. The alarm thread ends every wait long before this one.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

}  // namespace

// Holds an entry while a wait lasts.
class Waits::Registration {
 public:
  Registration(Waits& waits, Entry entry) : waits_(waits) {
    const std::lock_guard lock(waits_.mutex_);
    position_ = waits_.entries_.insert(waits_.entries_.end(), entry);
    // Pairs with the release store by which the caller of wake() set `stop` before the call: either
    // this load sees it, or wake() sees the entry.
    if (entry.stop->load(std::memory_order_acquire)) waits_.entries_.back().deadline = Clock::now();
    if (waits_.entries_.back().deadline < waits_.next_ring_) waits_.changed_.notify_one();
  }
  ~Registration() {
    const std::lock_guard lock(waits_.mutex_);
    waits_.entries_.erase(position_);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  Waits& waits_;
  Position position_;
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

// A buffer serves one transfer, so a late abort of its wait affects no other. An entry of run() has
// no buffer; the alarm thread ends it by give_up_(), because that takes longer than wake() may.
void Waits::call_back(Entry& entry) {
  entry.deadline = Clock::time_point::max();
  giving_up_ = giving_up_ || entry.buffer == nullptr;
  if (entry.buffer == nullptr) return;
  if (entry.send) {
    entry.buffer->abortWaitSend();
  } else {
    entry.buffer->abortWaitRecv();
  }
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
    // At most an hour, because time_point::max() overflows inside wait_until().
    changed_.wait_until(lock, std::min(next_ring_, now + std::chrono::hours(1)));
  }
}

}  // namespace bp::gloo_plugin
