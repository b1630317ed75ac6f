// This process' communicators of one job, and the notes (blocked_threads.h) of its threads that
// wait in one of them. It writes and reads them in the store.
//
// Threads: any. All but add(), remove() and forget() throw what the store throws.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bp/store.h"
#include "comm/engine/blocked_threads.h"

namespace bp {

class BlockedNotes {
 public:
  // What one communicator has been asked for, and the thread that was the last to use it. No thread
  // if the communicator may begin more without one.
  struct Asked {
    std::uint64_t collectives = 0;
    std::thread::id user = {};
  };

  // `rank`: the launcher's number of this rank. `store` must outlive this object.
  BlockedNotes(Store& store, int rank) : store_(store), rank_(rank) {}

  // `asked` must be callable until remove(). Neither waits for the store.
  void add(const std::string& group, std::function<Asked()> asked);
  void remove(const std::string& group);
  // Whether this process has several communicators.
  [[nodiscard]] bool has_groups() const;

  // `thread` waits for a collective. Replaces its note there, and returns it with what the thread
  // has asked for elsewhere.
  BlockedNote show(BlockedNote note, std::thread::id thread);
  // No thread waits any more in a collective of this communicator. Does nothing if no note is
  // shown.
  void forget(const std::string& group);
  // Returns the notes of a rank.
  [[nodiscard]] std::vector<BlockedNote> find(int rank) const;
  // Returns the circle to which this note of this rank belongs, if there is one.
  [[nodiscard]] BlockedCircle circle(const BlockedNote& own);

 private:
  [[nodiscard]] static std::string key(int rank);
  void write();  // with showing_ held

  Store& store_;
  const int rank_;
  mutable std::mutex mutex_;
  std::map<std::string, std::function<Asked()>> groups_;  // guarded by mutex_
  std::size_t searches_ = 0;                              // guarded by mutex_
  std::mutex showing_;                                    // held while the store is written
  std::map<std::string, BlockedNote> notes_;              // by group; guarded by showing_, as below
  std::string shown_;                                     // what the store holds
};

}  // namespace bp
