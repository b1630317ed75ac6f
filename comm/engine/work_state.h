// What a Work and the progress thread share. Threads: any.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>

#include "bp/communicator.h"

namespace bp {

struct Work::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;         // guarded by mutex, like error
  std::exception_ptr error;  // what wait() throws

  void finish(std::exception_ptr with) {
    const std::lock_guard lock(mutex);
    done = true;
    error = std::move(with);
    changed.notify_all();
  }
};

}  // namespace bp
