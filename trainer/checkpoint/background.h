// Runs one task at a time on a thread of its own.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace bp::trainer {

// Threads: one thread calls the functions; tasks run on the other one. `mutex_` guards task_,
// busy_, stop_ and error_.
class Background {
 public:
  Background();
  ~Background();  // waits for the running task; its error is lost
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Waits for the previous task, then starts `task`. Throws what the previous task threw, if it
  // did; `task` does not run then.
  void start(std::function<void()> task);
  // Waits for the running task. Throws what it threw, once.
  void wait();
  // Throws what a task threw, once. Does not wait.
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
