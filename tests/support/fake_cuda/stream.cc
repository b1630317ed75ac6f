#include "tests/support/fake_cuda/stream.h"

#include <chrono>
#include <utility>

namespace fake_cuda {
namespace {

std::mutex host_mutex;

Clock& the_hosts_clock() {
  static Clock& clock = *new Clock;
  return clock;
}

}  // namespace

void host_learns(const Clock& clock) {
  const std::lock_guard lock(host_mutex);
  the_hosts_clock().learn(clock);
}

Clock host_clock() {
  const std::lock_guard lock(host_mutex);
  return the_hosts_clock();
}

Stream::Stream(std::size_t number, const Delays& delays)
    : number_(number),
      delay_bound_(delays.bound),
      random_(delays.seed + static_cast<unsigned>(number) + 1),
      thread_([this] { run(); }) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Stream::add(std::function<void(Clock& clock)> work) {
  Task task{std::move(work), host_clock()};
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  ++added_;
  changed_.notify_all();
}

void Stream::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, last = added_] { return done_ >= last; });
  host_learns(clock_);
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !tasks_.empty() || is_closing_; });
    if (tasks_.empty()) return;
    const Task& task = tasks_.front();  // stays where it is while others are added behind it
    Clock clock = clock_;
    lock.unlock();
    if (delay_bound_.count() > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % delay_bound_.count()));
    }
    clock.learn(task.host);
    clock.advance(number_);
    task.work(clock);
    lock.lock();
    clock_ = clock;
    tasks_.pop_front();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace fake_cuda
