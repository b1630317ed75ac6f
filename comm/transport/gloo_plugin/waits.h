// Waits for Gloo with a deadline and a stop flag. When Gloo's own timed wait reaches its timeout,
// it closes every connection. bp never uses that timeout: an alarm thread aborts the wait instead.
//
// Threads: any. The alarm thread sleeps until the earliest deadline that it knew when it went to
// sleep, so a wait that ends sooner costs it nothing.
#pragma once

#include <gloo/transport/unbound_buffer.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace bp::gloo_plugin {

class Waits {
 public:
  using Clock = std::chrono::steady_clock;

  // `give_up` must end all operations of Gloo. The alarm thread calls it.
  explicit Waits(std::function<void()> give_up);
  ~Waits();
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  // Returns true when the buffer's send or receive is complete. Returns false at the deadline, or
  // when `stop` is set (before the call, or later with a wake()). Throws what Gloo throws.
  bool wait(gloo::transport::UnboundBuffer& buffer,
            bool send,
            Clock::time_point deadline,
            const std::atomic<bool>& stop);
  // Runs an operation of Gloo that cannot be aborted. When `stop` is set (before the call, or later
  // with a wake()), the alarm thread calls give_up().
  void run(const std::function<void()>& action, const std::atomic<bool>& stop);
  void wake();

 private:
  struct Entry {
    gloo::transport::UnboundBuffer* buffer = nullptr;  // null for an entry of run()
    bool send = false;
    Clock::time_point deadline;
    const std::atomic<bool>* stop = nullptr;
  };
  using Position = std::list<Entry>::iterator;
  class Registration;

  void call_back(Entry& entry);
  void ring();

  const std::function<void()> give_up_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Entry> entries_;  // guarded by mutex_, as all below
  Clock::time_point next_ring_ = Clock::time_point::max();
  bool giving_up_ = false;
  bool closing_ = false;
  std::thread alarm_;
};

}  // namespace bp::gloo_plugin
