// Waiting for messages: with the patience that their timeout gives, and looking now and then
// whether there is any hope.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "comm/engine/engine.h"
#include "comm/engine/messages.h"

namespace bp {

using Phase = MessageWork::Phase;

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

bool Messages::is_done(MessageWork& work) {
  Lock lock(core_->mutex);
  if (engine_.has_failed()) {  // from here on the memory is not touched any more
    end(work, std::make_exception_ptr(engine_.message_stopped(work.operation)));
  }
  if (work.phase != Phase::moving) return work.phase == Phase::done;
  try {
    if (move(work, Deadline(std::chrono::milliseconds(0)), lock)) complete(work);
  } catch (const TransportFailure&) {
    return true;  // wait() says what happened
  }
  return work.phase == Phase::done;
}

// Waits for the data until the deadline, without the mutex. True where all have moved.
bool Messages::move(MessageWork& work, const Deadline& deadline, Lock& lock) {
  lock.unlock();
  while (!work.transfers.empty()) {
    bool complete = false;
    try {
      complete = work.transfers.front()->wait(deadline, engine_.stop());
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

void Messages::fail(MessageWork& work, const Error& error, Lock& lock) {
  if (!lock.owns_lock()) lock.lock();
  end(work, std::make_exception_ptr(error));
  lock.unlock();
  engine_.message_failed(work.operation, error);
  throw error;
}

bool Messages::wait(MessageWork& work, std::optional<std::chrono::milliseconds> timeout) {
  const auto begin = PausableTimeout::Clock::now();
  const auto limit = engine_.timeout_of(work.operation);
  PausableTimeout patience(limit, begin);
  Deadline stall(begin, std::min(engine_.setup().stall_after, limit / 2));
  const auto user = timeout ? begin + *timeout : PausableTimeout::Clock::time_point::max();
  const Engine::WaitShown shown(engine_);
  Lock lock(core_->mutex);
  while (work.phase != Phase::done) {
    if (engine_.has_failed()) fail(work, engine_.message_stopped(work.operation), lock);
    const Deadline until(std::min({patience.slice().at(), stall.at(), user}), {});
    bool moved = false;
    try {
      if (!work.broken.empty()) throw TransportFailure(ErrorCode::peer_lost, work.broken);
      if (work.phase == Phase::moving) {
        moved = move(work, until, lock);
      } else if (!work.transfers.empty()) {  // of a receive that knows its message
        static_cast<void>(move(work, until, lock));
      } else {
        core_->changed.wait_until(lock, until.at(), [&] {
          return work.phase != Phase::posted || engine_.has_failed() || !work.broken.empty();
        });
      }
    } catch (const TransportFailure& why) {
      if (lock.owns_lock()) lock.unlock();
      fail(work, engine_.message_lost(work, why), lock);
    }
    const auto now = PausableTimeout::Clock::now();
    work.waited = now - begin;
    if (moved) complete(work);
    if (work.phase == Phase::done || engine_.has_failed()) continue;
    patience.look(now);
    if (patience.over()) {
      const bool began = work.phase == Phase::moving && !work.sends;
      lock.unlock();
      fail(work, engine_.message_timed_out(work, began), lock);
    }
    if (now >= stall.at()) {
      lock.unlock();
      if (const auto error = engine_.message_stalled(work)) fail(work, *error, lock);
      stall = Deadline(engine_.setup().stall_after);
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

std::string Messages::unreceived_text() {
  constexpr std::size_t kShown = 4;
  const Lock lock(core_->mutex);
  std::string text;
  std::size_t count = 0;
  for (const Arrived& message : matching_.arrived()) {
    if (++count > kShown) continue;
    const PacketHeader& header = message.header;
    text += concat(text.empty() ? "" : ", ", header.count, " ", name_of(header.type), " from rank ",
                   message.from, " with tag ", header.tag);
    if (header.name_bytes > 0) {
      text += concat(" '", std::string_view(header.name_shown.data(), header.name_bytes), "'");
    }
  }
  return count > kShown ? concat(text, " and ", count - kShown, " more") : text;
}

WaitNote Messages::note(WaitNote::Kind kind, const MessageWork* work) {
  const Lock lock(core_->mutex);
  WaitNote note;
  note.kind = kind;
  if (work != nullptr) {
    note.peer = work->peer;
    note.number = work->number;
    note.what = describe(work->operation);
  }
  for (int peer = 0; messenger_ != nullptr && peer < engine_.size(); ++peer) {
    note.posted.push_back(messenger_->posted(in_transport(peer)));
    note.handled.push_back(messenger_->handled(in_transport(peer)));
  }
  for (const Arrived& message : matching_.arrived()) {
    if (message.header.kind == PacketHeader::Kind::rendezvous) {
      note.unreceived.emplace(message.from, message.header.number);
    }
  }
  return note;
}

std::vector<int> Messages::peers_not_through() const {
  std::vector<int> peers;
  for (int peer = 0; peer < engine_.size(); ++peer) {
    if (!peers_[static_cast<std::size_t>(peer)].eager.empty()) peers.push_back(peer);
  }
  return peers;
}

void Messages::finish() {
  for (;;) {
    std::shared_ptr<MessageWork> next;
    {
      const Lock lock(core_->mutex);
      if (in_flight_.empty()) break;
      next = *in_flight_.begin();
    }
    next->wait({});
  }
  if (messenger_ == nullptr) return;
  {
    const Lock lock(core_->mutex);
    for (int peer = 0; peer < engine_.size(); ++peer) {
      at(peer).wants_credit = true;
      give_credit(peer);
    }
  }
  engine_.show_finished();
  wait_for_credits();
  const Deadline deadline(engine_.setup().timeout);
  if (!messenger_->wait_for_kept(deadline, engine_.stop()) && !engine_.has_failed()) {
    throw Error(ErrorCode::timeout, "the other ranks did not take the last packets of this one");
  }
}

// Until every message that went before its receive has been received.
void Messages::wait_for_credits() {
  Lock lock(core_->mutex);
  const std::vector<int> asked = peers_not_through();
  for (const int peer : asked) {
    PacketHeader header;
    header.group = group_;
    header.kind = PacketHeader::Kind::flush;
    tell_consumed(at(peer), header);
    try {
      messenger_->keep(in_transport(peer), messenger_->post(in_transport(peer), {header, {}}));
    } catch (const TransportFailure& why) {
      at(peer).lost = why.what();
    }
  }
  const auto is_over = [&] {
    return engine_.has_failed() || peers_not_through().empty() ||
           !at(peers_not_through().front()).lost.empty();
  };
  PausableTimeout patience(engine_.setup().timeout);
  while (!is_over() && !patience.over()) {
    const Deadline look(engine_.setup().stall_after);
    core_->changed.wait_until(lock, std::min(look.at(), patience.slice().at()), is_over);
    patience.look();
    if (is_over() || !look.passed()) continue;
    const int peer = peers_not_through().front();
    lock.unlock();
    const auto finished = engine_.shown_finish(peer);
    lock.lock();
    const std::uint64_t handled = messenger_->handled(in_transport(peer));
    const auto self = static_cast<std::size_t>(engine_.setup().rank);
    if (finished && finished->posted[self] == handled && !at(peer).eager.empty()) break;
  }
  const std::vector<int> left = peers_not_through();
  if (left.empty() || engine_.has_failed()) return;
  const std::size_t messages = at(left.front()).eager.size();
  lock.unlock();
  engine_.messages_left(left.front(), messages, !patience.over());
}

}  // namespace bp
