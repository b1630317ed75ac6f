// This process' communicators of one job, and the notes of its threads that wait in one
// of them. It writes and reads them in the store.
//
// Threads: any. All but add(), remove() and forget() throw what the store throws.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bp/store.h"

namespace bp {

// What the threads of the ranks do not begin, because they wait in a collective. A rank whose
// thread has waited for a stall in one communicator shows a note in the store. It lists how many
// collectives that thread has asked for in the other communicators that it uses. From the notes a
// rank finds ranks that wait for each other in different communicators, which the comparison within
// one of them (agreement.h) cannot see.
//
// A chain of notes counts only if no wait in it can end: the next rank's note shows that it has not
// begun the collective, and will not while its thread waits.
struct BlockedNote {
  std::string group;           // the communicator in which the thread waits
  std::uint64_t sequence = 0;  // the collective
  std::string what = {};       // for error texts
  // The ranks without which it cannot end, by the launcher's numbers, and which were not in it.
  std::vector<int> awaited = {};
  // By communicator: how many collectives the thread has asked for there. Only of the communicators
  // that no other thread was the last to use.
  std::map<std::string, std::uint64_t> asked = {};
};

// The notes of one rank, one for each thread that waits.
[[nodiscard]] std::string to_text(const std::vector<BlockedNote>& notes);
// Returns those before the first that no rank of this version of bp shows.
[[nodiscard]] std::vector<BlockedNote> blocked_notes_of(const std::string& text);

// Returns the ranks of a circle, each of which waits for the next, and the last for the first:
// `rank`, whose note is `own`. Empty if there is none. `notes_of` returns the notes of a rank; it
// is called at most `looks` times. `first` rotates which of several ranks it asks about first.
using BlockedCircle = std::vector<std::pair<int, BlockedNote>>;
using NotesOfRank = std::function<std::vector<BlockedNote>(int rank)>;
[[nodiscard]] BlockedCircle find_blocked_circle(
    int rank, const BlockedNote& own, const NotesOfRank& notes_of, int looks, std::size_t first);

// "ranks wait for each other in different communicators: ...", the same for every start.
[[nodiscard]] std::string circle_text(BlockedCircle circle);

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
