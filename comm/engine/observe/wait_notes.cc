#include "comm/engine/observe/wait_notes.h"

#include <cstddef>
#include <utility>

#include "base/text.h"
#include "bp/log.h"
#include "comm/store/report_keys.h"

namespace bp {
namespace {

// Returns false for a note that no rank of this version of bp shows in a communicator of `size`
// ranks.
bool can_be_of(const WaitNote& note, int size) {
  const auto ranks = static_cast<std::size_t>(size);
  return note.peer >= -1 && note.peer < size && note.posted.size() == ranks &&
         note.handled.size() == ranks;
}

}  // namespace

std::string WaitNotes::key(int rank) const {
  return concat("comm/", setup_.group, "/waits/", rank, ".");  // no key is a prefix of another
}

std::string WaitNotes::activity_key(int rank) const {
  return concat(kUnderWayKeys, setup_.launcher_rank(rank), ".");
}

std::optional<WaitNote> WaitNotes::find(int rank) const {
  if (!setup_.job) return std::nullopt;
  const auto text = setup_.job->store().find(key(rank));
  auto note = text ? wait_note_of(*text) : std::nullopt;
  return note && can_be_of(*note, setup_.size()) ? std::move(note) : std::nullopt;
}

std::optional<WaitNote> WaitNotes::find_finished(int rank) const {
  try {
    auto note = find(rank);
    if (note && note->kind == WaitNote::Kind::finished) return note;
  } catch (const Error&) {  // the caller looks whether the job has failed
  }
  return std::nullopt;
}

void WaitNotes::show(const WaitNote& note) {
  if (!setup_.job) return;
  std::string text = to_text(note);
  {
    const std::lock_guard lock(mutex_);
    if (is_shown_ && text == text_) return;
    text_ = text;
  }
  setup_.job->store().set(key(setup_.rank), text);
  if (note.kind == WaitNote::Kind::finished) return;
  // A collective writes its activity itself.
  if (is_shown_.exchange(true) || note.kind == WaitNote::Kind::collective) return;
  show_activity(concat(note.what, " of ", setup_.group));
}

void WaitNotes::forget() {
  if (!is_shown_.exchange(false)) return;
  try {
    setup_.job->store().erase(key(setup_.rank));
    forget_activity();
  } catch (const Error& error) {
    log(LogLevel::debug, concat("could not delete the note of a wait: ", error.what()));
  }
}

void WaitNotes::show_activity(const std::string& what) {
  if (setup_.job) setup_.job->store().set(activity_key(setup_.rank), what);
}

void WaitNotes::forget_activity() {
  if (setup_.job) setup_.job->store().erase(activity_key(setup_.rank));
}

std::string WaitNotes::activity_text(int rank) const {
  if (!setup_.job) return "";
  const std::string name = concat("; ", setup_.rank_text(rank));
  if (find_finished(rank)) return name + " has finished";
  const auto doing = setup_.job->store().find(activity_key(rank));
  return doing ? concat(name, " is in ", *doing) : "";
}

std::string_view timeout_advice(std::string_view activity) {
  if (activity.empty()) return " (slow ranks need a longer timeout)";
  return " (if it is not only slow, ranks wait for each other: every rank must ask for the "
         "collectives and messages of all its communicators in one order)";
}

}  // namespace bp
