// Runs one task at a time on a thread of its own.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

namespace bp::trainer {

// Threads: one thread calls the functions; each task runs on a new thread.
class Background {
 public:
  // `name`: of the threads, see start_thread().
  explicit Background(std::string name) : name_(std::move(name)) {}
  ~Background() { join(); }  // the error of the task is lost
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Waits for the previous task, then starts `task`. Throws what the previous task threw, if it
  // did; `task` does not run then.
  void start(std::function<void()> task);
  // Waits for the running task.
  void join();
  // The same, and throws what the task threw, once.
  void wait();
  // Throws what a task threw, once. Does not wait.
  void check();

 private:
  std::string name_;
  std::thread thread_;
  std::future<void> result_;  // of the last task, unless check() has taken it
};

}  // namespace bp::trainer
