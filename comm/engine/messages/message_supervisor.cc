#include "comm/engine/messages/message_supervisor.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/log.h"

namespace bp {
namespace {

std::string in_what(const WaitNote& note) {
  return note.kind == WaitNote::Kind::finished ? "has finished" : concat("in ", note.what);
}

}  // namespace

MessageSupervisor::MessageSupervisor(EngineState& state,
                                     const EngineTrace& trace,
                                     WaitNotes& notes,
                                     std::function<std::uint64_t()> collectives_asked_for)
    : state_(state),
      setup_(state.setup()),
      trace_(trace),
      notes_(notes),
      collectives_asked_for_(std::move(collectives_asked_for)) {}

FlightRecorder::EntryId MessageSupervisor::record_begin(const Operation& operation) {
  const std::lock_guard lock(state_.mutex());
  return state_.recorder().begin(operation, begun_++, TickClock::now());
}

void MessageSupervisor::record_end(const MessageWork& work, bool good) {
  {
    const std::lock_guard lock(state_.mutex());
    state_.recorder().end(work.entry_id, good,
                          {.algorithm = name_of(Operation::Kind::message), .waited = work.waited},
                          TickClock::now());
  }
  if (trace_.is_on()) {
    trace_.add_message(work.operation, work.begun, std::chrono::steady_clock::now());
  }
}

void MessageSupervisor::disagree(const std::string& text) {
  static_cast<void>(state_.declare(-1, ErrorCode::mismatch, text));
}

std::string MessageSupervisor::circle_text(const WaitCircle& circle) const {
  std::vector<std::pair<int, WaitNote>> ranks = circle.ranks;
  const auto lowest = std::ranges::min_element(
      ranks, [](const auto& a, const auto& b) { return a.first < b.first; });
  // clang 14, which scripts/fuzz builds with, cannot compile the subranges of libstdc++ 12.
  if (circle.is_closed) std::rotate(ranks.begin(), lowest, ranks.end());
  std::string waits;
  for (const auto& [rank, note] : ranks) {
    waits += concat(waits.empty() ? "" : ", ", setup_.rank_text(rank), " ", in_what(note));
  }
  const WaitNote& last = ranks.back().second;
  if (last.kind == WaitNote::Kind::finished) {
    return concat("a message is waited for in vain: ", waits,
                  " (each send needs a receive, and each receive a send, before finish())");
  }
  if (ranks.size() == 1) return concat("a rank waits for itself: ", waits);
  return concat(ranks.size() == 2 ? "two" : concat(ranks.size()),
                " ranks wait for each other: ", waits,
                last.kind == WaitNote::Kind::collective
                    ? " (every rank must ask for the same collectives and messages in the same "
                      "order)"
                    : " (send_async and receive_async let a rank do both)");
}

std::string MessageSupervisor::activity_of_peer(const MessageWork& work) const {
  if (work.peer == kAnySource || store_is_silent_) return {};
  return notes_.activity_text(work.peer);
}

// A send waits for a receive, whose rank warns itself if it waits for this one.
void MessageSupervisor::warn_of_long_wait(MessageWork& work) {
  if (work.waited < kWarnAfterStalls * setup_.stall_after) {
    static_cast<void>(state_.look_at_links());  // so that it is known when a silence began
    return;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(work.waited).count();
  const std::string doing = concat(setup_.own_text(), " has waited ", seconds, " s ");
  const std::string what = concat("in ", describe(work.operation));
  if (state_.warn_of_dead_links(concat(doing, what)) || work.sends || work.has_warned) return;
  work.has_warned = true;
  log(LogLevel::warn,
      concat(doing, "for ", work.peer == kAnySource ? "any rank" : setup_.rank_text(work.peer), " ",
             what, activity_of_peer(work)));
}

std::optional<Error> MessageSupervisor::stalled(MessageWork& work, const WaitNote& own) {
  try {
    const std::uint64_t begun = collectives_asked_for_();
    if (!store_is_silent_) {
      notes_.show(own);
      state_.look_for_failed_group();
    }
    const auto circle = find_circle(setup_.rank, begun, [&](int rank) -> std::optional<WaitNote> {
      if (rank == setup_.rank) return own;
      return store_is_silent_ ? std::nullopt : notes_.find(rank);
    });
    if (circle) return state_.declare(-1, ErrorCode::mismatch, circle_text(*circle));
    warn_of_long_wait(work);
  } catch (const Error& error) {
    if (state_.has_failed()) return stopped(work.operation);
    if (error.code() != ErrorCode::timeout) {
      return Error(error.code(), concat(setup_.own_text(), " stopped in ", describe(work.operation),
                                        ": ", error.what()));
    }
    store_is_silent_ = true;  // the message may come without it
  }
  return std::nullopt;
}

Error MessageSupervisor::stopped(const Operation& operation) const {
  return state_.stopped(concat("in ", describe(operation)));
}

Error MessageSupervisor::timed_out(const MessageWork& work,
                                   bool has_begun,
                                   const std::string& unreceived) {
  const bool from_any = work.peer == kAnySource;
  std::string why =
      work.sends ? "it has not received the message" : "no message came that this receive matches";
  if (has_begun) {
    why = "the message came, but not all of its data";
  } else if (!work.sends && !unreceived.empty()) {
    why += concat("; there came ", unreceived);
  }
  std::string doing;
  std::string dead_link;
  try {
    doing = activity_of_peer(work);
    dead_link = state_.dead_link(from_any ? setup_.rank : work.peer);
  } catch (const Error&) {
    if (state_.has_failed()) return stopped(work.operation);
  }
  const std::string text =
      concat(setup_.own_text(), " waited ", setup_.timeout_of(work.operation).count(), " ms for ",
             from_any ? "any rank" : setup_.rank_text(work.peer), " in ", describe(work.operation),
             ": ", why, doing, dead_link.empty() ? timeout_advice(doing) : concat("; ", dead_link));
  const int cause = setup_.transport_rank(from_any ? setup_.rank : work.peer);
  const Error kept = state_.declare(cause, ErrorCode::timeout, text);
  return kept.what() == text ? kept : stopped(work.operation);
}

Error MessageSupervisor::lost(const MessageWork& work,
                              const WaitNote& own,
                              const TransportFailure& why) {
  const bool from_any = work.peer == kAnySource;
  const std::string text =
      concat(setup_.own_text(), " lost ", from_any ? "a rank" : setup_.rank_text(work.peer), " in ",
             describe(work.operation), ": ", why.what());
  auto kept = state_.failure().wait(Deadline(kNewsOnTheWay));
  // The store may have told it of that failure instead of the peer's address.
  if (kept && (from_any || why.code() == ErrorCode::aborted)) return stopped(work.operation);
  if (from_any) return state_.declare(-1, why.code(), text);
  if (!kept) {
    try {
      if (const auto note = notes_.find_finished(work.peer)) {
        return state_.declare(-1, ErrorCode::mismatch,
                              circle_text({{{setup_.rank, own}, {work.peer, *note}}, false}));
      }
      kept = state_.declare(setup_.transport_rank(work.peer), why.code(), text);
    } catch (const Error&) {  // the store is lost or silent
      kept = state_.failure().get().value_or(Error(why.code(), text));
    }
  }
  if (kept->code() == ErrorCode::mismatch || kept->what() == text) return *kept;
  return {kept->code(), concat(text, "; first of all: ", kept->what())};
}

void MessageSupervisor::failed(const Operation& operation, const Error& error) {
  state_.failure().set(error);
  {
    const std::lock_guard lock(state_.mutex());
    state_.set_failure_is_known();
  }
  if (!store_is_silent_) {
    try {
      notes_.show_activity(concat(describe(operation), " of ", setup_.group));
    } catch (const Error& silent) {
      log(LogLevel::debug, concat("could not show the message in progress: ", silent.what()));
    }
  }
  state_.write_record(state_.recent());
}

void MessageSupervisor::left(int receiver, std::size_t count, bool has_finished) {
  const std::string what = concat(count, count == 1 ? " message" : " messages");
  if (!has_finished) {
    throw state_.declare(
        setup_.transport_rank(receiver), ErrorCode::timeout,
        concat(setup_.own_text(), " waited ", setup_.timeout.count(), " ms in finish() for ",
               setup_.rank_text(receiver), " to receive ", what, " of it"));
  }
  if (state_.failure().wait(Deadline(kNewsOnTheWay))) throw state_.not_begun(nullptr);
  throw state_.declare(
      -1, ErrorCode::mismatch,
      concat(setup_.rank_text(receiver), " has finished without receiving ", what, " of ",
             setup_.own_text(), " (each send needs a receive before finish())"));
}

}  // namespace bp
