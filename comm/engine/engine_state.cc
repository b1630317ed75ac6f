#include "comm/engine/engine_state.h"

#include "base/text.h"
#include "comm/engine/record_file.h"

namespace bp {

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
