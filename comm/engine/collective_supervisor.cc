#include "comm/engine/collective_supervisor.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "bp/log.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

// Once two requests differ, the other ranks have this time to show theirs, so that the error names
// all ranks.
constexpr std::chrono::milliseconds kAllShown{700};
constexpr std::chrono::milliseconds kLookAgain{50};

// Returns true if a collective cannot end on `rank` before `peer` has begun it, whatever its
// algorithm. Parts that may be empty need nobody.
bool needs(const Operation& operation, int rank, int peer) {
  switch (operation.kind) {
    case Kind::barrier:
    case Kind::join:
      return peer != rank;
    case Kind::all_reduce:
    case Kind::all_reduce_grouped:
    case Kind::all_reduce_int8:
    case Kind::all_gather:
    case Kind::reduce_scatter:
    case Kind::all_to_all:
      return peer != rank && operation.whole().count > 0 &&
             std::ranges::count(operation.counts, 0U) == 0;
    case Kind::broadcast:
    case Kind::scatter:
      return peer == operation.root && peer != rank;
    case Kind::reduce:
    case Kind::gather:
      return rank == operation.root && peer != rank && operation.whole().count > 0 &&
             std::ranges::count(operation.counts, 0U) == 0;
    case Kind::all_to_all_v:
    case Kind::message:
      return false;
  }
  return false;
}

}  // namespace

CollectiveSupervisor::CollectiveSupervisor(EngineState& state,
                                           const EngineTrace& trace,
                                           WaitNotes& notes,
                                           Messages& messages)
    : state_(state), setup_(state.setup()), trace_(trace), notes_(notes), messages_(messages) {
  if (setup_.job) agreement_.emplace(setup_.job->store(), setup_.group, setup_.members);
  current_.header.group = setup_.group;
}

// Each field by itself, as in Engine::enter().
const Header& CollectiveSupervisor::begin(std::uint64_t sequence,
                                          const Operation& operation,
                                          bool on_callers_thread,
                                          CallRecord& record) {
  current_.header.sequence = sequence;
  current_.header.operation = &operation;
  current_.header.algorithm =
      setup_.backends.on(operation.device).agreed_algorithm(operation, setup_.algorithm);
  current_.on_callers_thread = on_callers_thread;
  current_.record = &record;
  current_.is_shown = false;
  current_.has_warned = false;
  current_.received = 0;
  current_.store_is_silent = false;
  return current_.header;
}

void CollectiveSupervisor::leave(std::uint64_t collectives) {
  if (agreement_) agreement_->leave(setup_.rank, collectives);
}

void CollectiveSupervisor::waited(int peer, std::chrono::steady_clock::time_point since) {
  const auto now = std::chrono::steady_clock::now();
  current_.record->waited += now - since;
  if (trace_.is_on()) trace_.add_wait(peer, since, now);
}

void CollectiveSupervisor::show_activity(const Operation& operation) {
  if (current_.store_is_silent) return;
  try {
    notes_.show_activity(concat("collective ", current_.header.sequence, " of ", setup_.group, ": ",
                                describe(operation)));
  } catch (const Error& error) {
    current_.store_is_silent = true;
    log(LogLevel::debug, concat("could not show the collective in progress: ", error.what()));
  }
}

void CollectiveSupervisor::forget_shown() {
  setup_.job->blocked().forget(setup_.group);  // before this thread begins anything else
  agreement_->forget(setup_.rank, current_.header);
  notes_.forget_activity();
  notes_.forget();
}

void CollectiveSupervisor::leave_evidence(const Operation& operation) {
  if (setup_.job) setup_.job->blocked().forget(setup_.group);
  show_activity(operation);
  state_.write_record(state_.recent());
}

std::optional<Error> CollectiveSupervisor::find_disagreement(Agreement::Shown& shown) {
  const Header& header = current_.header;
  const Deadline all_shown(kAllShown);
  for (;;) {
    shown = agreement_->shown(header.sequence);
    // A rank that left when this one came may have deleted what this one had shown.
    if (!shown.contains(setup_.rank)) agreement_->show(setup_.rank, header);
    const auto differ = [](const auto& one, const auto& other) {
      return one.second != other.second;
    };
    if (std::ranges::adjacent_find(shown, differ) == shown.end()) return std::nullopt;
    const auto text = disagreement(agreement_->texts(header.sequence, shown), header.sequence,
                                   std::string(header.group));
    if (!text) return std::nullopt;
    if (shown.size() == setup_.members.size() || all_shown.passed()) {
      return state_.declare(-1, ErrorCode::mismatch, *text);
    }
    if (const auto kept = state_.failure().wait(Deadline(kLookAgain))) return *kept;
  }
}

// Ranks that have shown nothing, and are not known to have come: a rank that waits for no data may
// have left the collective before it had to show anything.
std::vector<int> CollectiveSupervisor::missing_in(const Agreement::Shown& shown,
                                                  const CollectiveCall& call) const {
  std::vector<int> missing;
  for (int rank = 0; rank < setup_.size(); ++rank) {
    if (!shown.contains(rank) && !call.knows_of(rank)) missing.push_back(rank);
  }
  return missing;
}

// Says which connections carry nothing, on each rank that notices. Otherwise warns once in a
// collective, on the lowest of the ranks that wait. While data arrive, a rank that
// has shown nothing is busy with sending, so there is no warning.
void CollectiveSupervisor::warn_of_missing(const CollectiveCall& call) {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  const auto waited = call.context().timeout - call.time_left();
  const bool progresses = std::exchange(current_.received, call.received()) != call.received();
  if (waited < kWarnAfterStalls * setup_.stall_after) {
    static_cast<void>(state_.look_at_links());  // so that it is known when a silence began
    return;
  }
  const auto seconds_waited = duration_cast<seconds>(waited).count();
  const std::string doing =
      concat(setup_.own_text(), " has waited ", seconds_waited, " s ", call.progress());
  if (state_.warn_of_dead_links(doing) || progresses || current_.has_warned) return;
  current_.has_warned = true;
  const Agreement::Shown shown = agreement_->shown(current_.header.sequence);
  const std::vector<int> missing = missing_in(shown, call);
  if (missing.empty() || shown.empty() || shown.begin()->first != setup_.rank) return;
  log(LogLevel::warn, concat(doing, " for ", ranks_text(missing), ", not seen in it yet",
                             notes_.activity_text(missing.front())));
}

// Shows that the thread that waits for the collective begins nothing in its other communicators,
// and looks whether a rank that it waits for waits there for it.
void CollectiveSupervisor::look_for_circle(const Agreement::Shown& shown) {
  BlockedNotes& blocked = setup_.job->blocked();
  if (!blocked.has_groups()) return;
  const std::thread::id thread = waiting_thread_();
  if (thread == std::thread::id()) return;
  const Operation& operation = *current_.header.operation;
  BlockedNote note{
      .group = setup_.group, .sequence = current_.header.sequence, .what = describe(operation)};
  for (int rank = 0; rank < setup_.size(); ++rank) {
    if (!shown.contains(rank) && needs(operation, setup_.rank, rank)) {
      note.awaited.push_back(setup_.launcher_rank(rank));
    }
  }
  BlockedCircle circle = blocked.circle(blocked.show(std::move(note), thread));
  // A rank that has aborted a group need not begin the collective in which others still wait.
  const auto has_been_aborted = [&](const auto& one) {
    return setup_.job->store().find(failed_group_key(one.second.group)).has_value();
  };
  if (circle.empty() || std::ranges::any_of(circle, has_been_aborted)) return;
  throw state_.declare(-1, ErrorCode::mismatch, circle_text(std::move(circle)));
}

// A call beside others that run on their device comes here more often than its stalls.
bool CollectiveSupervisor::is_held_up(CollectiveCall& call) {
  const bool some_run = look_at_running_();
  if (state_.has_failed()) throw stopped(call);
  if (call.context().stall_after == setup_.stall_after) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!some_run && now < next_stall_) return true;
  next_stall_ = now + setup_.stall_after;
  if (some_run) call.restart_timeout();
  return some_run;
}

void CollectiveSupervisor::stalled(CollectiveCall& call) {
  if (is_held_up(call)) return;
  if (!agreement_ || current_.store_is_silent) return;
  const Header& header = current_.header;
  try {
    if (!current_.is_shown) {
      agreement_->show(setup_.rank, header);
      current_.is_shown = true;
      show_activity(*header.operation);
    }
    // While the caller's thread is here, a rank that waits for a message of this one waits in vain.
    if (current_.on_callers_thread) {
      WaitNote note = messages_.note(WaitNote::Kind::collective, nullptr);
      note.number = header.sequence;
      note.what = describe(*header.operation);
      notes_.show(note);
    }
    state_.look_for_failed_group();
    Agreement::Shown shown;
    if (const auto mismatch = find_disagreement(shown)) throw *mismatch;
    look_for_circle(shown);
    warn_of_missing(call);
  } catch (const Error& error) {
    if (state_.has_failed()) throw stopped(call);
    if (error.code() != ErrorCode::timeout) {
      throw Error(error.code(),
                  concat(setup_.own_text(), " stopped ", call.progress(), ": ", error.what()));
    }
    // The collective may complete without the store, and has its own deadline.
    current_.store_is_silent = true;
  }
}

Error CollectiveSupervisor::mismatched(const std::string& text) {
  return state_.declare(-1, ErrorCode::mismatch, text);
}

Error CollectiveSupervisor::stopped(const CollectiveCall& call) {
  return state_.stopped(call.progress());
}

std::string CollectiveSupervisor::device_text(const CollectiveCall& call) const {
  return concat(setup_.own_text(), " waited ", call.context().timeout.count(), " ms ",
                call.progress(), " for the work that its stream on ",
                name_of(call.context().operation->device), " had before");
}

Error CollectiveSupervisor::timed_out_alone(const CollectiveCall& call, int peer) const {
  if (peer == setup_.rank) return {ErrorCode::timeout, device_text(call)};
  return {ErrorCode::timeout,
          concat(setup_.own_text(), " waited ", call.context().timeout.count(), " ms for ",
                 name_of(call.context().operation->device), " ", call.progress())};
}

Error CollectiveSupervisor::timed_out(const CollectiveCall& call, int peer) {
  if (!agreement_) return timed_out_alone(call, peer);
  if (peer == setup_.rank) {
    return state_.declare(call.world_rank(peer), ErrorCode::timeout, device_text(call));
  }
  Agreement::Shown shown;
  std::vector<int> absent;
  std::string doing;
  std::string dead_link;
  try {
    if (current_.store_is_silent) return timed_out_without_store(call, peer);
    agreement_->show(setup_.rank, current_.header);
    if (const auto mismatch = find_disagreement(shown)) return *mismatch;
    dead_link = state_.dead_link(peer);
    absent = missing_in(shown, call);
    if (!absent.empty()) doing = notes_.activity_text(absent.front());
  } catch (const Error&) {
    return state_.has_failed() ? stopped(call) : timed_out_without_store(call, peer);
  }
  const std::string awaited = absent.empty() ? setup_.rank_text(peer) : ranks_text(absent);
  const int cause = call.world_rank(absent.empty() ? peer : absent.front());
  const std::string text =
      concat(setup_.own_text(), " waited ", call.context().timeout.count(), " ms for ", awaited,
             " ", call.progress(), ": ",
             absent.empty() ? "it takes part, but nothing more came"
                            : "not seen in this collective by then",
             doing, dead_link.empty() ? timeout_advice(doing) : concat("; ", dead_link));
  const Error kept = state_.declare(cause, ErrorCode::timeout, text);
  return kept.what() == text ? kept : stopped(call);
}

Error CollectiveSupervisor::timed_out_on_device(const CollectiveCall& call) {
  Error alone = timed_out_alone(call, -1);
  if (!agreement_) return alone;
  const std::string text =
      concat(alone.what(), ": all ranks have begun it (slow ranks need a longer timeout)");
  const Error kept = state_.declare(-1, ErrorCode::timeout, text);
  return kept.what() == text ? kept : stopped(call);
}

Error CollectiveSupervisor::timed_out_without_store(const CollectiveCall& call, int peer) const {
  return {ErrorCode::timeout,
          concat(setup_.own_text(), " waited ", call.context().timeout.count(), " ms for ",
                 setup_.rank_text(peer), " ", call.progress(),
                 ": nothing came, nor does the job's store answer (is bprun stopped?)")};
}

Error CollectiveSupervisor::failed(const CollectiveCall& call,
                                   int peer,
                                   const TransportFailure& why) {
  const std::string text = concat(setup_.own_text(), " lost ", setup_.rank_text(peer), " ",
                                  call.progress(), ": ", why.what());
  if (!agreement_) return {why.code(), text};
  auto kept = state_.failure().wait(Deadline(kNewsOnTheWay));
  // The store told it of that failure instead of the peer's address.
  if (kept && why.code() == ErrorCode::aborted) return stopped(call);
  if (!kept) {
    try {
      agreement_->show(setup_.rank, current_.header);
      Agreement::Shown shown;
      if (const auto mismatch = find_disagreement(shown)) return *mismatch;
      kept = state_.declare(call.world_rank(peer), why.code(), text);
    } catch (const Error&) {  // the store is lost or silent
      kept = state_.failure().get().value_or(Error(why.code(), text));
    }
  }
  if (kept->code() == ErrorCode::mismatch || kept->what() == text) return *kept;
  return {kept->code(), concat(text, "; first of all: ", kept->what())};
}

}  // namespace bp
