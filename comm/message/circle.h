// Finds out whether ranks wait for each other in a circle. A rank that has waited for a stall shows
// a note in the store, which says what it waits for. A rank that waits follows the notes from rank
// to rank.
//
// A chain of notes counts only if nothing in flight can end one of its waits: either the next
// rank's note shows that what the wait needs is missing there, or the waiting rank has handled all
// packets of the next rank. So ranks that are only slow are never taken for ranks in a circle.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bp {

struct WaitNote {
  enum class Kind : std::uint8_t { send, receive, collective, finished };
  Kind kind = Kind::finished;
  int peer = -1;             // the rank that it waits for; -1: any rank, all, or none
  std::uint64_t number = 0;  // of the message that it sends, or of the collective
  // By rank in the communicator.
  std::vector<std::uint64_t> posted = {};   // packets for that rank
  std::vector<std::uint64_t> handled = {};  // packets of that rank
  // The messages that wait at this rank for a receive: sender and number.
  std::set<std::pair<int, std::uint64_t>> unreceived = {};
  std::string what = {};  // for error texts
};

[[nodiscard]] std::string to_text(const WaitNote& note);
[[nodiscard]] std::optional<WaitNote> wait_note_of(const std::string& text);

struct WaitCircle {
  std::vector<std::pair<int, WaitNote>> ranks;  // each waits for the next, the last for the first
  // False if the last rank waits for none of them, but has finished or waits in a collective.
  bool is_closed = true;
};

// Returns the circle, or the chain without an end, in which `rank` waits; nothing if there is none.
// `note_of` returns the note of a rank, if it shows one. `begun` is the number of collectives that
// `rank` takes part in.
using NoteOf = std::function<std::optional<WaitNote>(int rank)>;
[[nodiscard]] std::optional<WaitCircle> find_circle(int rank,
                                                    std::uint64_t begun,
                                                    const NoteOf& note_of);

}  // namespace bp
