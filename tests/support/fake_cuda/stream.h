// The streams of the fake runtime: each is a thread that does its work in order, after a short
// random delay, whatever the other streams do.
//
// Threads: any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "tests/support/fake_cuda/clock.h"

namespace fake_cuda {

class Stream;

// What a stream has recorded last in an event.
struct Recorded {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  Clock clock;  // of the stream at that time
};

// Before each piece of work.
struct Delays {
  unsigned seed = 1;
  std::chrono::microseconds bound{100};  // each is less, or 0
};

class Stream {
 public:
  Stream(std::size_t number, const Delays& delays);
  ~Stream();  // after its work
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] std::size_t number() const { return number_; }
  // Adds work that begins when all work before it is done, and what the host knows at this time.
  // `work` gets the clock of the stream.
  void add(std::function<void(Clock& clock)> work);
  void finish();  // waits for the work so far

 private:
  struct Task {
    std::function<void(Clock& clock)> work;
    Clock host;
  };
  void run();

  std::size_t number_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;  // the first one runs
  std::uint64_t added_ = 0;
  std::uint64_t done_ = 0;
  bool is_closing_ = false;
  Clock clock_;
  std::chrono::microseconds delay_bound_;
  std::minstd_rand random_;
  std::thread thread_;
};

// What the host has waited for. There is one clock for all of its threads, so an order that only
// one thread knows counts for all: a race between two threads may stay unseen.
void host_learns(const Clock& clock);
[[nodiscard]] Clock host_clock();

}  // namespace fake_cuda
