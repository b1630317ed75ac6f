// How a caller waits for one of its messages: within the message's timeout, and with a look now and
// then whether the message can still come.
#include <algorithm>

#include "base/pausable_timeout.h"
#include "comm/engine/messages/message_work.h"
#include "comm/engine/messages/messages.h"

namespace bp {

using Phase = MessageWork::Phase;

bool Messages::is_done(MessageWork& work) {
  Lock lock(core_->mutex);
  if (state_.has_failed()) {  // from here on the memory is not touched any more
    end(work, std::make_exception_ptr(supervisor_.stopped(work.operation)));
  }
  if (work.phase != Phase::moving) return work.phase == Phase::done;
  try {
    if (move(work, Deadline(std::chrono::milliseconds(0)), lock)) complete(work);
  } catch (const TransportFailure&) {
    return true;  // wait() throws what happened
  }
  return work.phase == Phase::done;
}

// Waits for the transfers until the deadline, without the mutex. Returns true if all are complete.
bool Messages::move(MessageWork& work, const Deadline& deadline, Lock& lock) {
  lock.unlock();
  while (!work.transfers.empty()) {
    bool complete = false;
    try {
      complete = work.transfers.front()->wait(deadline, state_.stop());
    } catch (...) {
      lock.lock();
      throw;
    }
    if (!complete) break;
    work.transfers.pop_front();
  }
  lock.lock();
  return work.transfers.empty();
}

// Returns true if the message has a receive and all its data have moved. Throws TransportFailure.
bool Messages::move_or_sleep(MessageWork& work, const Deadline& until, Lock& lock) {
  if (!work.broken.empty()) throw TransportFailure(ErrorCode::peer_lost, work.broken);
  // A receive that knows its message has transfers before the message arrives.
  if (work.phase == Phase::moving || !work.transfers.empty()) {
    return move(work, until, lock) && work.phase == Phase::moving;
  }
  core_->changed.wait_until(lock, until.at(), [&] {
    return work.phase != Phase::posted || state_.has_failed() || !work.broken.empty();
  });
  return false;
}

void Messages::fail(MessageWork& work, const Error& error, Lock& lock) {
  if (!lock.owns_lock()) lock.lock();
  end(work, std::make_exception_ptr(error));
  lock.unlock();
  supervisor_.failed(work.operation, error);
  throw error;
}

bool Messages::wait(MessageWork& work, std::optional<std::chrono::milliseconds> timeout) {
  const auto begin = PausableTimeout::Clock::now();
  const auto limit = setup_.timeout_of(work.operation);
  PausableTimeout pausable(limit, begin);
  Deadline stall(begin, std::min(setup_.stall_after, limit / 2));
  const auto user = timeout ? begin + *timeout : PausableTimeout::Clock::time_point::max();
  const auto own_note = [&] {
    return note(work.sends ? WaitNote::Kind::send : WaitNote::Kind::receive, &work);
  };
  const WaitNoteGuard guard(supervisor_.notes());
  Lock lock(core_->mutex);
  while (work.phase != Phase::done) {
    if (state_.has_failed()) fail(work, supervisor_.stopped(work.operation), lock);
    const Deadline until(std::min({pausable.slice().at(), stall.at(), user}), {});
    bool moved = false;
    try {
      moved = move_or_sleep(work, until, lock);
    } catch (const TransportFailure& why) {
      if (lock.owns_lock()) lock.unlock();
      fail(work, supervisor_.lost(work, own_note(), why), lock);
    }
    const auto now = PausableTimeout::Clock::now();
    work.waited = now - begin;
    if (moved) complete(work);
    if (work.phase == Phase::done || state_.has_failed()) continue;
    pausable.look(now);
    if (pausable.over()) {
      const bool has_begun = work.phase == Phase::moving && !work.sends;
      lock.unlock();
      fail(work, supervisor_.timed_out(work, has_begun, unreceived_text()), lock);
    }
    if (now >= stall.at()) {
      lock.unlock();
      if (const auto error = supervisor_.stalled(work, own_note())) fail(work, *error, lock);
      stall = Deadline(setup_.stall_after);
      lock.lock();
    }
    if (now >= user && work.phase != Phase::done) return false;
  }
  if (work.error) std::rethrow_exception(work.error);
  return true;
}

void Messages::wake() {
  const Lock lock(core_->mutex);
  core_->changed.notify_all();
}

bool MessageWork::done() {
  {
    const std::lock_guard lock(core->mutex);
    if (phase == Phase::done) return true;
  }
  return core->owner->is_done(*this);
}

bool MessageWork::wait(std::optional<std::chrono::milliseconds> timeout) {
  {
    const std::lock_guard lock(core->mutex);
    if (phase == Phase::done) {
      if (error) std::rethrow_exception(error);
      return true;
    }
  }
  return core->owner->wait(*this, timeout);
}

}  // namespace bp
