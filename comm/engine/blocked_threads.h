// What the threads of the ranks do not begin, because they wait in a collective. A rank whose
// thread has waited for a stall in one communicator shows a note in the store. It lists how many
// collectives that thread has asked for in the other communicators that it uses. From the notes a
// rank finds ranks that wait for each other in different communicators, which the comparison within
// one of them (agreement.h) cannot see.
//
// A chain of notes counts only if no wait in it can end: the next rank's note shows that it has not
// begun the collective, and will not while its thread waits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bp {

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

}  // namespace bp
