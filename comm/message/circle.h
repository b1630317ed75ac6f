// Whether ranks wait for each other in a circle. Each rank that has waited long shows a note of
// what it waits for in the store; who waits reads the notes along the chain "waits for".
//
// A note says what its rank is waiting for now, and nothing that is under way can end that wait:
// what the chain needs from the next rank is either known to be missing there, or all packets of
// that rank have been handled here. So ranks that are only late are never taken for ranks in a
// circle.
#pragma once

#include <cstddef>
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
  int peer = -1;             // that it waits for; -1: any rank, or all
  std::uint64_t number = 0;  // of the message that it sends, or of the collective
  // By rank in the communicator.
  std::vector<std::uint64_t> posted = {};   // packets for that rank
  std::vector<std::uint64_t> handled = {};  // packets of that rank
  // Messages that wait here for a receive: their sender and their number.
  std::set<std::pair<int, std::uint64_t>> unreceived = {};
  std::string what = {};  // for people
};

[[nodiscard]] std::string to_text(const WaitNote& note);
[[nodiscard]] std::optional<WaitNote> wait_note_of(const std::string& text);

struct WaitCircle {
  std::vector<std::pair<int, WaitNote>> ranks;  // each waits for the next, the last for the first
  // Where the last waits for none of them but has finished, or waits in a collective for all.
  bool is_closed = true;
};

// `note_of` gives the note of a rank that shows one. `begun` is how many collectives `rank` has
// begun: it takes part in those.
using NoteOf = std::function<std::optional<WaitNote>(int rank)>;
[[nodiscard]] std::optional<WaitCircle> find_circle(int rank,
                                                    std::uint64_t begun,
                                                    const NoteOf& note_of);

}  // namespace bp
