#include "comm/engine/observe/engine_state.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "base/system/output_place.h"
#include "base/text.h"
#include "bp/activity.h"
#include "bp/log.h"
#include "comm/store/report_keys.h"

namespace bp {
namespace {

namespace chrono = std::chrono;

std::string_view name_of(RecordedOperation::State state) {
  switch (state) {
    case RecordedOperation::State::under_way:
      return "under way";
    case RecordedOperation::State::done:
      return "done";
    case RecordedOperation::State::failed:
      return "failed";
  }
  return "?";
}

// "2026-11-22 00:10:11.123456", in UTC: ranks of several hosts are compared.
std::string time_text(chrono::system_clock::time_point time) {
  const std::time_t whole = chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%F %T", &parts);
  const auto micros =
      chrono::duration_cast<chrono::microseconds>(time - chrono::floor<chrono::seconds>(time))
          .count();
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06d", static_cast<int>(micros));
  return concat(text.data(), fraction.data());
}

double micros_of(chrono::nanoseconds time) {
  return chrono::duration<double, std::micro>(time).count();
}

// A flight recorder's content as a file, for the person who looks for the cause of a failure.
struct RecordOwner {
  int world_rank = 0;
  std::string_view group;
  std::string_view failure;  // why the communicator failed
};

// Returns a heading, and one line for each operation, oldest first.
std::string format_record(const RecordOwner& owner, std::span<const RecordedOperation> operations) {
  std::string text = concat("# rank ", owner.world_rank, ", communicator ", owner.group, ": ",
                            owner.failure, "\n# its last ", operations.size(),
                            " operations, oldest first; times in UTC\n"
                            "# number\tbegun\tstate\ttook_us\twaited_us\tbytes\talgorithm\t"
                            "operation\n");
  for (const RecordedOperation& one : operations) {
    text += concat(one.sequence, "\t", time_text(one.begun), "\t", name_of(one.state), "\t",
                   micros_of(one.took), "\t", micros_of(one.waited), "\t", one.bytes, "\t",
                   one.algorithm.empty() ? "-" : one.algorithm, "\t", one.text, "\n");
  }
  return text;
}

// Writes that to FOLDER/rank.N/collectives.GROUP.txt and replaces an earlier file. Logs an error
// instead of throwing it, because the caller is about to throw the communicator's failure.
void write_record(const std::string& folder,
                  const RecordOwner& owner,
                  std::span<const RecordedOperation> operations) {
  const std::string own = concat(folder, "/rank.", owner.world_rank);
  const std::string path = concat(own, "/collectives.", owner.group, ".txt");
  const OutputFolder made(own);
  std::ofstream file(path, std::ios::binary);
  file << format_record(owner, operations) << std::flush;
  if (!file) {
    log(LogLevel::warn, concat("cannot write ", path, ": ", made.why_not()));
  }
}

constexpr int kSilentStalls = 5;

}  // namespace

std::string failed_group_key(const std::string& group) { return concat("comm/", group, "/failed"); }

Error EngineState::declare(int cause, ErrorCode code, const std::string& text) {
  const Error error(code, text);
  return setup_.job ? setup_.job->fail(failure_, cause, error) : failure_.set(error);
}

void EngineState::abort(const std::string& why) {
  const Error error(ErrorCode::aborted, concat(setup_.own_text(), " aborted: ", why));
  failure_.set(error);
  if (!setup_.job) return;
  setup_.job->transport().wake();
  if (setup_.is_world) {
    setup_.job->fail(failure_, setup_.transport_rank(setup_.rank), error);
  } else {
    setup_.job->store().set(failed_group_key(setup_.group), to_text(error));
  }
}

void EngineState::look_for_failed_group() {
  if (setup_.is_world || !setup_.job) return;
  if (const auto text = setup_.job->store().find(failed_group_key(setup_.group)))
    failure_.set(error_of(-1, *text));
}

std::string EngineState::links_key(int member) const {
  return concat("comm/links/", setup_.launcher_rank(member), ".");
}

std::string EngineState::look_at_links() {
  if (!setup_.job) return "";
  Store& store = setup_.job->store();
  auto [peer, text] = setup_.job->links().look(kSilentStalls * setup_.stall_after);
  if (!text.empty()) {
    const int other = setup_.job->launcher_rank(peer);
    if (store.find(concat(kUnderWayKeys, other, "."))) {
      text += concat("; rank ", other, " waits too, and both reach the job's store");
    }
    store.set(links_key(setup_.rank), text);
    shows_links_ = true;
  } else if (shows_links_.exchange(false)) {
    store.erase(links_key(setup_.rank));
    has_warned_of_links_ = false;
  }
  return text;
}

bool EngineState::warn_of_dead_links(const std::string& doing) {
  const std::string text = look_at_links();
  if (text.empty()) return false;
  if (!has_warned_of_links_.exchange(true)) log(LogLevel::warn, concat(doing, ": ", text));
  return true;
}

std::string EngineState::dead_link(int member) {
  if (!setup_.job) return "";
  std::string text = look_at_links();
  if (!text.empty() || member < 0) return text;
  return setup_.job->store().find(links_key(member)).value_or("");
}

Error EngineState::stopped(const std::string& where) const {
  Error kept = *failure_.get();
  if (kept.code() == ErrorCode::mismatch) return kept;  // the same on all ranks
  return {kept.code(), concat(setup_.own_text(), " stopped ", where, ": ", kept.what())};
}

Error EngineState::not_begun(const Operation* next) const {
  Error kept = *failure_.get();
  if (kept.code() == ErrorCode::mismatch) return kept;  // the same on all ranks
  return {kept.code(), concat(setup_.own_text(), " did not ",
                              next == nullptr ? "finish" : concat("begin ", describe(*next)), ": ",
                              kept.what())};
}

Counters EngineState::counters() const {
  const std::lock_guard lock(mutex_);
  return recorder_.counters();
}

std::vector<RecordedOperation> EngineState::recent() const {
  const std::lock_guard lock(mutex_);
  return recorder_.recent();
}

void EngineState::write_record(const std::vector<RecordedOperation>& operations) const {
  if (setup_.output.empty()) return;
  const std::string failure = to_text(*failure_.get());
  bp::write_record(
      setup_.output,
      {.world_rank = setup_.launcher_rank(setup_.rank), .group = setup_.group, .failure = failure},
      operations);
}

}  // namespace bp
