// The part of Engine that is only needed when a collective does not go smoothly: who is to blame,
// and what all ranks are told.
#include <numeric>
#include <utility>

#include "base/text.h"
#include "bp/log.h"
#include "comm/engine/engine.h"
#include "comm/engine/record_file.h"
#include "comm/store/report_keys.h"

namespace bp {
namespace {

// How long ranks have to show what they asked for once two were seen to differ, so that the error
// names them all.
constexpr std::chrono::milliseconds kAllShown{700};
constexpr std::chrono::milliseconds kLookAgain{50};

// When to say aloud who is missing: ten seconds, unless it is a test.
constexpr int kWarnAfterStalls = 10;

}  // namespace

std::string Engine::rank_text(int rank) const {
  if (rank < 0) return "another rank";
  if (setup_.group == "world") return concat("rank ", rank);
  return concat("rank ", rank, " of ", setup_.group, " (world rank ", launcher_rank(rank), ")");
}

int Engine::launcher_rank(int rank) const {
  const int in_world = setup_.members[static_cast<std::size_t>(rank)];
  return setup_.job ? setup_.job->launcher_rank(in_world) : in_world;
}

std::string Engine::failed_key() const { return concat("comm/", setup_.group, "/failed"); }

Error Engine::declare(int cause, ErrorCode code, const std::string& text) {
  const Error error(code, text);
  return setup_.job ? setup_.job->fail(failure_, cause, error) : failure_.set(error);
}

std::vector<int> Engine::participants() const {
  std::vector<int> all(setup_.members.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::optional<Error> Engine::find_disagreement() {
  const Deadline all_shown(kAllShown);
  for (;;) {
    const Agreement::Shown shown = agreement_->shown(header_.sequence);
    const auto text = disagreement(shown, header_.sequence, std::string(header_.group));
    if (!text) return std::nullopt;
    if (shown.size() == participants().size() || all_shown.passed()) {
      return declare(-1, ErrorCode::mismatch, *text);
    }
    if (const auto kept = failure_.wait(Deadline(kLookAgain))) return *kept;
  }
}

std::string Engine::under_way_key() const {
  return concat(kUnderWayKeys, launcher_rank(setup_.rank), ".");
}

void Engine::show_under_way(const Operation& operation) {
  if (!setup_.job || store_silent_) return;
  try {
    setup_.job->store().set(under_way_key(), concat("collective ", header_.sequence, " of ",
                                                    setup_.group, ": ", describe(operation)));
  } catch (const Error& error) {
    store_silent_ = true;
    log(LogLevel::debug, concat("could not show what is under way: ", error.what()));
  }
}

void Engine::forget_shown() {
  agreement_->forget(setup_.rank, header_);
  setup_.job->store().erase(under_way_key());
  forget_wait();
}

void Engine::leave_evidence(const Operation& operation) {
  show_under_way(operation);
  leave_record(recent());
}

void Engine::leave_record(const std::vector<RecordedOperation>& operations) const {
  if (setup_.output.empty()) return;
  const std::string failure = to_text(*failure_.get());
  write_record(
      setup_.output,
      {.world_rank = launcher_rank(setup_.rank), .group = setup_.group, .failure = failure},
      operations);
}

// A group's abort() does not fail the job, so its members have to look.
void Engine::look_for_failed_group() {
  if (setup_.is_world) return;
  if (const auto text = setup_.job->store().find(failed_key())) failure_.set(error_of(-1, *text));
}

// Once an operation, by the first of those who wait. While data come in, whoever is not seen is
// busy sending.
void Engine::warn_of_missing(const CollectiveCall& call) {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  const auto waited = call.context().timeout - call.time_left();
  const bool gets_on = std::exchange(received_, call.received()) != call.received();
  if (gets_on || warned_ || waited < kWarnAfterStalls * setup_.stall_after) return;
  warned_ = true;
  const Agreement::Shown shown = agreement_->shown(header_.sequence);
  std::vector<int> missing;
  for (const int rank : participants()) {
    if (!shown.contains(rank)) missing.push_back(rank);
  }
  if (missing.empty() || shown.empty() || shown.begin()->first != setup_.rank) return;
  log(LogLevel::warn,
      concat(rank_text(setup_.rank), " has waited ", duration_cast<seconds>(waited).count(), " s ",
             call.progress(), " for ", ranks_text(missing), ", not seen in it yet"));
}

void Engine::stalled(const CollectiveCall& call) {
  if (store_silent_) return;
  try {
    if (!shown_) {
      agreement_->show(setup_.rank, header_);
      shown_ = true;
      show_under_way(*header_.operation);
    }
    if (blocking_) {  // or a rank in a message might wait for us in vain
      WaitNote note = messages_->note(WaitNote::Kind::collective, nullptr);
      note.number = header_.sequence;
      note.what = describe(*header_.operation);
      show_wait(note);
    }
    look_for_failed_group();
    if (const auto mismatch = find_disagreement()) throw *mismatch;
    warn_of_missing(call);
  } catch (const Error& error) {
    if (failure_.get()) throw stopped(call);
    if (error.code() != ErrorCode::timeout) {
      throw Error(error.code(),
                  concat(rank_text(setup_.rank), " stopped ", call.progress(), ": ", error.what()));
    }
    store_silent_ = true;  // what is under way may go on without it, and has its own deadline
  }
}

Error Engine::mismatched(const std::string& text) { return declare(-1, ErrorCode::mismatch, text); }

Error Engine::stopped(const CollectiveCall& call) {
  Error kept = *failure_.get();
  if (kept.code() == ErrorCode::mismatch) return kept;  // the same on all ranks
  return {kept.code(),
          concat(rank_text(setup_.rank), " stopped ", call.progress(), ": ", kept.what())};
}

Error Engine::timed_out(const CollectiveCall& call, int peer) {
  Agreement::Shown shown;
  try {
    if (store_silent_) return timed_out_without_store(call, peer);
    agreement_->show(setup_.rank, header_);
    if (const auto mismatch = find_disagreement()) return *mismatch;
    shown = agreement_->shown(header_.sequence);
  } catch (const Error&) {
    return failure_.get() ? stopped(call) : timed_out_without_store(call, peer);
  }
  std::vector<int> absent;
  for (const int rank : participants()) {
    if (!shown.contains(rank)) absent.push_back(rank);
  }
  const std::string who = absent.empty() ? rank_text(peer) : ranks_text(absent);
  const int cause = call.world_rank(absent.empty() ? peer : absent.front());
  const std::string text =
      concat(rank_text(setup_.rank), " waited ", call.context().timeout.count(), " ms for ", who,
             " ", call.progress(), ": ",
             absent.empty() ? "it takes part, but nothing more came"
                            : "not seen in this collective by then",
             " (slow ranks need a longer timeout)");
  const Error kept = declare(cause, ErrorCode::timeout, text);
  return kept.what() == text ? kept : stopped(call);
}

Error Engine::timed_out_without_store(const CollectiveCall& call, int peer) const {
  return {ErrorCode::timeout,
          concat(rank_text(setup_.rank), " waited ", call.context().timeout.count(), " ms for ",
                 rank_text(peer), " ", call.progress(),
                 ": nothing came, nor does the job's store answer (is bprun stopped?)")};
}

Error Engine::failed(const CollectiveCall& call, int peer, const TransportFailure& why) {
  const std::string text = concat(rank_text(setup_.rank), " lost ", rank_text(peer), " ",
                                  call.progress(), ": ", why.what());
  auto kept = failure_.wait(Deadline(kNewsOnTheWay));
  if (!kept) {
    try {
      agreement_->show(setup_.rank, header_);
      if (const auto mismatch = find_disagreement()) return *mismatch;
      kept = declare(call.world_rank(peer), why.code(), text);
    } catch (const Error&) {  // the store is lost or silent
      kept = failure_.get().value_or(Error(why.code(), text));
    }
  }
  if (kept->code() == ErrorCode::mismatch || kept->what() == text) return *kept;
  return {kept->code(), concat(text, "; first of all: ", kept->what())};
}

}  // namespace bp
