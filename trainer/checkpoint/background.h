// One task at a time on a thread of its own.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace bp::trainer {

// Threads: one thread calls; tasks run on the other. `mutex_` guards task_, busy_, stop_ and
// error_.
class Background {
 public:
  Background();
  ~Background();  // lets a task under way end; its error is lost
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Waits for the task before it, then starts this one. Throws what that one threw.
  void start(std::function<void()> task);
  // Waits for the task under way. Throws what it threw, once.
  void wait();
  // Throws what a task threw, once, without waiting.
  void check();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  bool busy_ = false;
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace bp::trainer
