// Calls handlers when descriptors are ready and when timers are due. Single-threaded. It uses
// poll(2), because epoll refuses regular files and a launcher's stdin may be one.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace bp::launcher {

class EventLoop {
 public:
  using Clock = std::chrono::steady_clock;
  using Handler = std::function<void(short events)>;  // poll's revents
  using TimerId = std::uint64_t;

  // Calls `handler` when `fd` is ready for `events`. A descriptor has one handler. A handler may
  // watch, forget and set timers, also for its own descriptor. The caller must forget a descriptor
  // before it closes it.
  void watch(int fd, short events, Handler handler);
  void set_events(int fd, short events);  // 0: reports nothing, not even hang-ups
  void forget(int fd);

  // Calls `handler` once, when `delay` has passed.
  TimerId after(Clock::duration delay, std::function<void()> handler);
  void cancel(TimerId id);  // does nothing if the timer has run or was cancelled

  // Waits at most `limit` until a descriptor is ready or a timer is due, and calls their handlers.
  void run_once(std::chrono::milliseconds limit = std::chrono::seconds{1});

 private:
  struct Watch {
    short events = 0;
    std::uint64_t id = 0;  // distinguishes a descriptor from an earlier one of the same number
    std::shared_ptr<Handler> handler;
  };
  struct Timer {
    TimerId id = 0;
    std::function<void()> handler;
  };
  void run_timers();
  void rebuild();

  std::unordered_map<int, Watch> watches_;
  std::multimap<Clock::time_point, Timer> timers_;
  std::vector<pollfd> polled_;
  std::vector<std::uint64_t> polled_ids_;
  std::uint64_t next_id_ = 1;
  bool changed_ = true;
};

}  // namespace bp::launcher
