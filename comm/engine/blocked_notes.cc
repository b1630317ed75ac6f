#include "comm/engine/blocked_notes.h"

#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "bp/log.h"

namespace bp {
namespace {

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

}  // namespace bp
