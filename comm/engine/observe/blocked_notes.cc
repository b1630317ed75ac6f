#include "comm/engine/observe/blocked_notes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/log.h"

namespace bp {
namespace {

// Takes the next line from the front.
std::optional<std::string_view> next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::vector<std::string_view> words_in(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

// Takes the four lines of a note from the front.
std::optional<BlockedNote> next_note(std::string_view& text) {
  const auto where = next_line(text);
  const auto awaited = next_line(text);
  const auto asked = next_line(text);
  const auto what = next_line(text);
  if (!what) return std::nullopt;
  const auto place = words_in(*where);
  BlockedNote note;
  if (place.size() != 2 || !read_number(place[1], note.sequence)) return std::nullopt;
  note.group = place[0];
  for (const std::string_view word : words_in(*awaited)) {
    if (!read_number(word, note.awaited.emplace_back())) return std::nullopt;
  }
  const auto counts = words_in(*asked);
  for (std::size_t i = 0; i + 1 < counts.size(); i += 2) {
    if (!read_number(counts[i + 1], note.asked[std::string(counts[i])])) return std::nullopt;
  }
  note.what = *what;
  return note;
}

// True if the thread of `note` begins this collective only after its own wait.
bool withholds(const BlockedNote& note, const BlockedNote& waiting) {
  const auto count = note.asked.find(waiting.group);
  return count != note.asked.end() && count->second <= waiting.sequence;
}

class CircleSearch {
 public:
  CircleSearch(int rank, const BlockedNote& own, const NotesOfRank& notes_of, int looks)
      : notes_of_(notes_of), looks_(looks), chain_{{rank, own}} {}

  [[nodiscard]] bool closes(std::size_t first) {
    const BlockedNote waiting = chain_.back().second;
    const int start = chain_.front().first;
    for (std::size_t i = 0; i < waiting.awaited.size(); ++i) {
      const int next = waiting.awaited[(first + i) % waiting.awaited.size()];
      if (next == start && withholds(chain_.front().second, waiting)) return true;
      if (next == start || looks_ == 0 || !seen_.insert(next).second) continue;
      --looks_;
      for (BlockedNote& note : notes_of_(next)) {
        if (!withholds(note, waiting)) continue;
        chain_.emplace_back(next, std::move(note));
        if (closes(first)) return true;
        chain_.pop_back();
      }
    }
    return false;
  }
  [[nodiscard]] const BlockedCircle& chain() const { return chain_; }

 private:
  const NotesOfRank& notes_of_;
  int looks_;
  BlockedCircle chain_;  // each rank waits for the next
  std::set<int> seen_;
};

// The most notes that one search reads, once in a stall, so that the ranks of a large job do not
// load the store. Circles are short, and each rank begins elsewhere.
constexpr int kLooks = 16;

}  // namespace

std::string BlockedNotes::key(int rank) { return concat("comm/blocked/", rank, "."); }

void BlockedNotes::add(const std::string& group, std::function<Asked()> asked) {
  const std::lock_guard lock(mutex_);
  groups_[group] = std::move(asked);
}

void BlockedNotes::remove(const std::string& group) {
  const std::lock_guard lock(mutex_);
  groups_.erase(group);
}

bool BlockedNotes::has_groups() const {
  const std::lock_guard lock(mutex_);
  return groups_.size() > 1;
}

BlockedNote BlockedNotes::show(BlockedNote note, std::thread::id thread) {
  const std::lock_guard order(showing_);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [group, asked] : groups_) {
      const Asked now = group == note.group ? Asked() : asked();
      if (now.user == thread) note.asked[group] = now.collectives;
    }
  }
  notes_[note.group] = note;
  write();
  return note;
}

void BlockedNotes::forget(const std::string& group) {
  const std::lock_guard order(showing_);
  if (notes_.erase(group) == 0) return;
  try {
    write();
  } catch (const Error& error) {
    log(LogLevel::debug, concat("could not delete the note of a wait: ", error.what()));
  }
}

void BlockedNotes::write() {
  std::vector<BlockedNote> all;
  for (const auto& [group, note] : notes_) all.push_back(note);
  std::string text = to_text(all);
  if (text == shown_) return;
  if (text.empty()) {
    store_.erase(key(rank_));
  } else {
    store_.set(key(rank_), text);
  }
  shown_ = std::move(text);
}

std::vector<BlockedNote> BlockedNotes::find(int rank) const {
  const auto text = store_.find(key(rank));
  return text ? blocked_notes_of(*text) : std::vector<BlockedNote>();
}

BlockedCircle BlockedNotes::circle(const BlockedNote& own) {
  std::size_t first = static_cast<std::size_t>(rank_);
  {
    const std::lock_guard lock(mutex_);
    first += searches_++;
  }
  return find_blocked_circle(
      rank_, own, [this](int rank) { return find(rank); }, kLooks, first);
}

std::string to_text(const std::vector<BlockedNote>& notes) {
  std::string text;
  for (const BlockedNote& note : notes) {
    text += concat(note.group, ' ', note.sequence, '\n');
    for (const int rank : note.awaited) text += concat(rank, ' ');
    text += '\n';
    for (const auto& [group, count] : note.asked) text += concat(group, ' ', count, ' ');
    std::string what = note.what;
    std::ranges::replace(what, '\n', ' ');
    text += concat('\n', what, '\n');
  }
  return text;
}

std::vector<BlockedNote> blocked_notes_of(const std::string& text) {
  std::vector<BlockedNote> notes;
  std::string_view rest = text;
  while (auto note = next_note(rest)) notes.push_back(std::move(*note));
  return notes;
}

BlockedCircle find_blocked_circle(
    int rank, const BlockedNote& own, const NotesOfRank& notes_of, int looks, std::size_t first) {
  CircleSearch search(rank, own, notes_of, looks);
  return search.closes(first) ? search.chain() : BlockedCircle();
}

std::string circle_text(BlockedCircle circle) {
  const auto lowest = std::ranges::min_element(
      circle, [](const auto& a, const auto& b) { return a.first < b.first; });
  // clang 14, which scripts/fuzz builds with, cannot compile the subranges of libstdc++ 12.
  std::rotate(circle.begin(), lowest, circle.end());
  std::string text = "ranks wait for each other in different communicators: ";
  for (std::size_t i = 0; i < circle.size(); ++i) {
    const auto& [rank, note] = circle[i];
    text += concat(i == 0 ? "" : "; ", "rank ", rank, " in collective ", note.sequence, " of ",
                   note.group, ", ", note.what, ", which rank ",
                   circle[(i + 1) % circle.size()].first, " has not begun");
  }
  return text + " (every rank must ask for the collectives of all its communicators in one order)";
}

}  // namespace bp
