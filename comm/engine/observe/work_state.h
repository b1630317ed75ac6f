// The state of an operation in flight, which its Work shares.
//
// Threads: any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/system/forked.h"
#include "bp/communicator.h"
#include "comm/device/device_memory.h"

namespace bp {

struct Work::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  virtual ~State() = default;

  const ProcessMark process = {};

  [[nodiscard]] virtual bool done() = 0;
  // Waits until the operation is done, for at most `timeout`, which is bounded(). Returns false if
  // it is still in flight then. Throws the operation's Error.
  virtual bool wait(std::optional<std::chrono::milliseconds> timeout) = 0;
  // See Work::wait(stream).
  virtual void delay(void* /*stream*/) { wait({}); }
};

// The state of an operation that the progress thread carries out.
struct TaskState final : Work::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;                    // guarded by mutex, like all below
  std::exception_ptr error;                // what wait() throws
  std::shared_ptr<const DeviceEvent> end;  // of the operation on its device; null: not known (yet)
  std::thread::id waiter = {};             // the thread in wait() without a timeout

  [[nodiscard]] bool done() override {
    const std::lock_guard lock(mutex);
    return is_done;
  }
  bool wait(std::optional<std::chrono::milliseconds> timeout) override {
    std::unique_lock lock(mutex);
    const auto over = [&] { return is_done; };
    // Bounded, because this operation and each one before it end at their own deadlines.
    if (!timeout) {
      waiter = std::this_thread::get_id();
      changed.wait(lock, over);
      waiter = {};
    } else if (!changed.wait_for(lock, *timeout, over)) {
      return false;
    }
    if (error) std::rethrow_exception(error);
    return true;
  }
  void delay(void* stream) override {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return is_done || end; });
      if (!is_done) return end->delay(stream);
    }
    wait({});
  }
  [[nodiscard]] std::thread::id waiting_thread() {
    const std::lock_guard lock(mutex);
    return waiter;
  }
  void ends_at(std::shared_ptr<const DeviceEvent> event) {
    const std::lock_guard lock(mutex);
    end = std::move(event);
    changed.notify_all();
  }
  void finish(std::exception_ptr with) {
    const std::lock_guard lock(mutex);
    is_done = true;
    error = std::move(with);
    changed.notify_all();
  }
};

}  // namespace bp
