// Waiting for Gloo with a deadline and a stop flag. Gloo's own timed wait closes every connection
// when its time is up, so ours never ends that way: a thread calls the waiter back instead.
//
// Threads: any. The alarm thread sleeps until the earliest deadline that it knew of when it fell
// asleep, so waits that end sooner cost it nothing.
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

  // `give_up` ends all that Gloo is doing; called on the alarm thread.
  explicit Waits(std::function<void()> give_up);
  ~Waits();
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  // True when the buffer's send or receive is complete; false when called back. Throws what Gloo
  // does.
  bool wait(gloo::transport::UnboundBuffer& buffer,
            bool send,
            Clock::time_point deadline,
            const std::atomic<bool>& stop);
  // Runs something of Gloo's that cannot be called back; when `stop` is set, give_up() is called.
  void run(const std::function<void()>& action, const std::atomic<bool>& stop);
  void wake();

 private:
  struct Entry {
    gloo::transport::UnboundBuffer* buffer = nullptr;  // null: of run()
    bool send = false;
    Clock::time_point deadline;
    const std::atomic<bool>* stop = nullptr;
  };
  using Place = std::list<Entry>::iterator;
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
