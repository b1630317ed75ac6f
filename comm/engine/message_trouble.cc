// The part of Engine that is only needed when a message does not get on.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "bp/log.h"
#include "comm/engine/engine.h"
#include "comm/engine/messages.h"
#include "comm/store/report_keys.h"

namespace bp {
namespace {

std::string in_what(const WaitNote& note) {
  return note.kind == WaitNote::Kind::finished ? "has finished" : concat("in ", note.what);
}

}  // namespace

std::string Engine::wait_key(int rank) const {
  return concat("comm/", setup_.group, "/waits/", rank, ".");  // no key is a prefix of another
}

std::optional<WaitNote> Engine::shown_wait(int rank) {
  if (!setup_.job) return std::nullopt;
  const auto text = setup_.job->store().find(wait_key(rank));
  return text ? wait_note_of(*text) : std::nullopt;
}

void Engine::show_wait(const WaitNote& note) {
  if (!setup_.job) return;
  std::string text = to_text(note);
  {
    const std::lock_guard lock(mutex_);
    if (wait_shown_ && text == wait_text_) return;
    wait_text_ = text;
  }
  setup_.job->store().set(wait_key(setup_.rank), text);
  if (note.kind == WaitNote::Kind::finished) return;
  if (wait_shown_.exchange(true) || note.kind == WaitNote::Kind::collective) return;
  setup_.job->store().set(under_way_key(), concat(note.what, " of ", setup_.group));
}

void Engine::forget_wait() {
  if (!wait_shown_.exchange(false)) return;
  try {
    setup_.job->store().erase(wait_key(setup_.rank));
    setup_.job->store().erase(under_way_key());
  } catch (const Error& error) {
    log(LogLevel::debug, concat("could not take back what was shown: ", error.what()));
  }
}

std::string Engine::circle_text(const WaitCircle& circle) const {
  std::vector<std::pair<int, WaitNote>> ranks = circle.ranks;
  const auto lowest = std::ranges::min_element(
      ranks, [](const auto& a, const auto& b) { return a.first < b.first; });
  // clang 14, which scripts/fuzz builds with, cannot compile the subranges of libstdc++ 12.
  if (circle.is_closed) std::rotate(ranks.begin(), lowest, ranks.end());
  std::string who;
  for (const auto& [rank, note] : ranks) {
    who += concat(who.empty() ? "" : ", ", rank_text(rank), " ", in_what(note));
  }
  const WaitNote& last = ranks.back().second;
  if (last.kind == WaitNote::Kind::finished) {
    return concat("a message is waited for in vain: ", who,
                  " (each send needs a receive, and each receive a send, before finish())");
  }
  if (ranks.size() == 1) return concat("a rank waits for itself: ", who);
  return concat(ranks.size() == 2 ? "two" : concat(ranks.size()),
                " ranks wait for each other: ", who,
                last.kind == WaitNote::Kind::collective
                    ? " (every rank must ask for the same collectives and messages in the same "
                      "order)"
                    : " (send_async and receive_async let a rank do both)");
}

std::optional<Error> Engine::message_stalled(const MessageWork& work) {
  try {
    const WaitNote own =
        messages_->note(work.sends ? WaitNote::Kind::send : WaitNote::Kind::receive, &work);
    std::uint64_t begun = 0;
    {
      const std::lock_guard lock(mutex_);
      begun = sequence_ + queue_.size();
    }
    if (!message_store_silent_) {
      show_wait(own);
      if (setup_.job) look_for_failed_group();
    }
    const auto circle = find_circle(setup_.rank, begun, [&](int rank) -> std::optional<WaitNote> {
      if (rank == setup_.rank) return own;
      return message_store_silent_ ? std::nullopt : shown_wait(rank);
    });
    if (circle) return declare(-1, ErrorCode::mismatch, circle_text(*circle));
  } catch (const Error& error) {
    if (has_failed()) return message_stopped(work.operation);
    if (error.code() != ErrorCode::timeout) {
      return Error(error.code(), concat(rank_text(setup_.rank), " stopped in ",
                                        describe(work.operation), ": ", error.what()));
    }
    message_store_silent_ = true;  // the message may come all the same
  }
  return std::nullopt;
}

Error Engine::message_stopped(const Operation& operation) const {
  Error kept = *failure_.get();
  if (kept.code() == ErrorCode::mismatch) return kept;  // the same on all ranks
  return {kept.code(),
          concat(rank_text(setup_.rank), " stopped in ", describe(operation), ": ", kept.what())};
}

Error Engine::message_timed_out(const MessageWork& work, bool began) {
  std::string who = work.peer == kAnySource ? "any rank" : rank_text(work.peer);
  std::string why =
      work.sends ? "it has not received the message" : "no message came that this receive matches";
  if (began) {
    why = "the message came, but not all of its data";
  } else if (const std::string others = messages_->unreceived_text();
             !work.sends && !others.empty()) {
    why += concat("; there came ", others);
  }
  try {
    const auto note =
        work.peer == kAnySource || message_store_silent_ ? std::nullopt : shown_wait(work.peer);
    if (note) why += concat("; ", rank_text(work.peer), " is ", in_what(*note));
  } catch (const Error&) {
    if (has_failed()) return message_stopped(work.operation);
  }
  const std::string text = concat(
      rank_text(setup_.rank), " waited ", timeout_of(work.operation).count(), " ms for ", who,
      " in ", describe(work.operation), ": ", why, " (slow ranks need a longer timeout)");
  const int cause = work.peer == kAnySource ? setup_.members[static_cast<std::size_t>(setup_.rank)]
                                            : setup_.members[static_cast<std::size_t>(work.peer)];
  const Error kept = declare(cause, ErrorCode::timeout, text);
  return kept.what() == text ? kept : message_stopped(work.operation);
}

Error Engine::message_lost(const MessageWork& work, const TransportFailure& why) {
  if (work.peer == kAnySource) {
    const Error own(why.code(), concat(rank_text(setup_.rank), " lost a rank in ",
                                       describe(work.operation), ": ", why.what()));
    const auto kept = failure_.wait(Deadline(kNewsOnTheWay));
    return kept ? message_stopped(work.operation) : declare(-1, own.code(), own.what());
  }
  const std::string text = concat(rank_text(setup_.rank), " lost ", rank_text(work.peer), " in ",
                                  describe(work.operation), ": ", why.what());
  auto kept = failure_.wait(Deadline(kNewsOnTheWay));
  if (!kept) {
    try {
      if (const auto note = shown_finish(work.peer)) {
        const WaitNote own = messages_->note(WaitNote::Kind::receive, &work);
        return declare(-1, ErrorCode::mismatch,
                       circle_text({{{setup_.rank, own}, {work.peer, *note}}, false}));
      }
      kept = declare(setup_.members[static_cast<std::size_t>(work.peer)], why.code(), text);
    } catch (const Error&) {  // the store is lost or silent
      kept = failure_.get().value_or(Error(why.code(), text));
    }
  }
  if (kept->code() == ErrorCode::mismatch || kept->what() == text) return *kept;
  return {kept->code(), concat(text, "; first of all: ", kept->what())};
}

void Engine::message_failed(const Operation& operation, const Error& error) {
  failure_.set(error);
  {
    const std::lock_guard lock(mutex_);
    told_ = true;
  }
  if (setup_.job && !message_store_silent_) {
    try {
      setup_.job->store().set(under_way_key(), concat(describe(operation), " of ", setup_.group));
    } catch (const Error& silent) {
      log(LogLevel::debug, concat("could not show what is under way: ", silent.what()));
    }
  }
  leave_record(recent());
}

void Engine::disagree_on_message(const std::string& text) {
  static_cast<void>(declare(-1, ErrorCode::mismatch, text));
}

void Engine::show_finished() {
  if (setup_.job) show_wait(messages_->note(WaitNote::Kind::finished, nullptr));
}

std::optional<WaitNote> Engine::shown_finish(int rank) {
  try {
    auto note = shown_wait(rank);
    if (note && note->kind == WaitNote::Kind::finished) return note;
  } catch (const Error&) {  // where the job has failed, the caller sees that
  }
  return std::nullopt;
}

void Engine::messages_left(int receiver, std::size_t count, bool finished) {
  const std::string what = concat(count, count == 1 ? " message" : " messages");
  if (!finished) {
    throw declare(
        setup_.members[static_cast<std::size_t>(receiver)], ErrorCode::timeout,
        concat(rank_text(setup_.rank), " waited ", setup_.timeout.count(), " ms in finish() for ",
               rank_text(receiver), " to receive ", what, " of it"));
  }
  if (const auto kept = failure_.wait(Deadline(kNewsOnTheWay))) throw refusal(*kept, nullptr);
  throw declare(-1, ErrorCode::mismatch,
                concat(rank_text(receiver), " has finished without receiving ", what, " of ",
                       rank_text(setup_.rank), " (each send needs a receive before finish())"));
}

FlightRecorder::Ticket Engine::record_message(const Operation& operation,
                                              FlightRecorder::Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  return recorder_.begin(operation, messages_begun_++, now);
}

void Engine::record_end_of_message(const MessageWork& work, bool good) {
  const auto now = FlightRecorder::Clock::now();
  {
    const std::lock_guard lock(mutex_);
    recorder_.end(work.ticket, good, {.algorithm = "message", .waited = work.waited}, now);
  }
  if (!setup_.trace) return;
  setup_.trace->add_overlapping(
      {.row = row("messages"), .name = describe(work.operation), .begin = work.begun, .end = now});
}

}  // namespace bp
