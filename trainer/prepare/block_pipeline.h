// Works on blocks of data in three stages: they are read in order, worked on by several threads at
// once, and taken in order again. So the result does not depend on the threads or on their timing.
//
//   BlockPipeline<Block> pipeline({.read = ..., .work = ..., .take = ...}, {.workers = 2});
//   pipeline.run();
//
// The blocks lie in a ring and are used again. A block is read only when there is a free one, and
// when the blocks in the ring hold less than a limit of bytes; a single block may hold more. So
// memory is bounded however long the input is, and however slow a stage.
//
// Threads: run() calls `read` on one thread at a time, `work` on several, and `take` on the thread
// that called run(). `read` and `work` run on threads that block all signals.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/system/thread.h"
#include "bp/error.h"

namespace bp::trainer {

struct PipelineLimits {
  std::size_t workers = 1;                   // threads; 0: run() does everything itself
  std::size_t bytes = std::size_t{8} << 20;  // of the blocks in the ring, as size() counts them
  [[nodiscard]] std::size_t blocks() const { return workers + 2; }  // one is taken, one waits
};

// A Block has a default constructor and `std::size_t bytes() const`.
template <class Block>
class BlockPipeline {
 public:
  struct Stages {
    std::function<bool(Block&)> read;  // replaces the block's content; returns false at the end
    std::function<void(Block&, std::size_t worker)> work;  // worker: 0, 1, ...
    std::function<void(Block&)> take;
  };
  BlockPipeline(Stages stages, const PipelineLimits& limits)
      : stages_(std::move(stages)), limits_(limits), slots_(limits.blocks()) {}

  // Runs until all blocks are taken. Rethrows what a stage throws, after the blocks before it are
  // taken; no block behind it is taken then. May be called once.
  void run() {
    const Threads threads(*this);
    for (;;) {
      if (threads.none()) (void)do_next(0);
      Slot* const slot = wait_for_next();
      if (slot == nullptr) return;
      if (slot->error) std::rethrow_exception(slot->error);
      stages_.take(slot->block);
      release(*slot);
    }
  }

 private:
  struct Slot {
    Block block;
    std::size_t bytes = 0;
    std::exception_ptr error;
    bool done = false;  // may be taken
  };

  // The workers. They end when everything is read, or when run() ends by an exception.
  class Threads {
   public:
    explicit Threads(BlockPipeline& pipeline) : pipeline_(pipeline) {
      try {
        for (std::size_t worker = 0; worker < pipeline.limits_.workers; ++worker) {
          threads_.push_back(start_thread("bp-block", [&pipeline, worker] {
            while (pipeline.do_next(worker)) {
            }
          }));
        }
      } catch (const Error&) {  // the system allows no more threads, so fewer do the work
      }
    }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;
    ~Threads() {
      pipeline_.stop();
      for (std::thread& thread : threads_) thread.join();
    }
    [[nodiscard]] bool none() const { return threads_.empty(); }

   private:
    BlockPipeline& pipeline_;
    std::vector<std::thread> threads_;
  };

  // Reads and works on the next block. Returns false if there is none.
  bool do_next(std::size_t worker) {
    Slot* const slot = read_next();
    if (slot == nullptr) return false;
    std::exception_ptr error;
    try {
      stages_.work(slot->block, worker);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    slot->error = error;
    slot->done = true;
    ended_ = ended_ || error;
    changed_.notify_all();
    return true;
  }

  Slot* read_next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || (!reading_ && has_room()); });
    if (ended_) return nullptr;
    reading_ = true;
    Slot& slot = slots_[read_ % slots_.size()];
    lock.unlock();
    bool found = false;
    std::exception_ptr error;
    try {
      found = stages_.read(slot.block);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    reading_ = false;
    ended_ = ended_ || !found;
    if (found || error) {
      ++read_;
      slot.bytes = slot.block.bytes();
      bytes_ += slot.bytes;
      slot.error = error;
      slot.done = error != nullptr;
    }
    changed_.notify_all();
    return found ? &slot : nullptr;
  }

  [[nodiscard]] bool has_room() const {
    return read_ == taken_ || (read_ - taken_ < slots_.size() && bytes_ < limits_.bytes);
  }

  // Returns the next block to take; null if all are taken.
  Slot* wait_for_next() {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    changed_.wait(lock, [&] { return slot.done || (ended_ && !reading_ && taken_ == read_); });
    return slot.done ? &slot : nullptr;
  }

  void release(Slot& slot) {
    const std::lock_guard lock(mutex_);
    slot.done = false;
    bytes_ -= slot.bytes;
    ++taken_;
    changed_.notify_all();
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  Stages stages_;
  PipelineLimits limits_;
  std::mutex mutex_;  // guards everything below, except the block of a slot that is read or taken
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::uint64_t read_ = 0;  // blocks so far
  std::uint64_t taken_ = 0;
  std::size_t bytes_ = 0;  // of the blocks that are read and not taken
  bool reading_ = false;
  bool ended_ = false;  // nothing more is read
};

}  // namespace bp::trainer
