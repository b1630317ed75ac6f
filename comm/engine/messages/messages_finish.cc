// How the messages of a communicator end, and what other ranks learn of those that have not.
#include <algorithm>
#include <string_view>

#include "base/pausable_timeout.h"
#include "base/text.h"
#include "comm/engine/messages/messages.h"

namespace bp {

// Returns "10 f32 from rank 1 with tag 3" for each message that came and that no receive has
// matched.
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

void Messages::note_user() {
  const auto self = std::this_thread::get_id();
  if (user_ == std::thread::id()) user_ = self;
  has_several_users_ = has_several_users_ || user_ != self;
}

WaitNote Messages::note(WaitNote::Kind kind, const MessageWork* work) {
  const Lock lock(core_->mutex);
  note_user();
  WaitNote note;
  note.kind = kind;
  if (work != nullptr) {
    note.peer = work->peer;
    note.number = work->number;
    note.what = describe(work->operation);
  }
  // The data of a message that has a receive are on their way. And while this thread waits, another
  // one may send what a peer waits for. So the search for a circle ends here, as at a receive from
  // any source.
  const bool will_end =
      work != nullptr && !work->sends && work->phase == MessageWork::Phase::moving;
  if (kind != WaitNote::Kind::finished && (will_end || has_several_users_)) {
    note.kind = WaitNote::Kind::receive;
    note.peer = -1;
  }
  for (int peer = 0; messenger_ != nullptr && peer < size(); ++peer) {
    note.posted.push_back(messenger_->posted(setup_.transport_rank(peer)));
    note.handled.push_back(messenger_->handled(setup_.transport_rank(peer)));
  }
  for (const Arrived& message : matching_.arrived()) {
    if (message.header.kind == PacketHeader::Kind::rendezvous) {
      note.unreceived.emplace(message.from, message.header.number);
    }
  }
  return note;
}

std::vector<int> Messages::peers_with_unreceived() const {
  std::vector<int> peers;
  for (int peer = 0; peer < size(); ++peer) {
    const bool has_some = !peers_[static_cast<std::size_t>(peer)].window.unreceived().empty();
    if (has_some) peers.push_back(peer);
  }
  return peers;
}

void Messages::wait_for_works() {
  for (;;) {
    std::shared_ptr<MessageWork> next;
    {
      const Lock lock(core_->mutex);
      if (in_flight_.empty()) return;
      next = *in_flight_.begin();
    }
    next->wait({});
  }
}

void Messages::finish() {
  wait_for_works();
  if (messenger_ == nullptr) return;
  {
    const Lock lock(core_->mutex);
    for (int peer = 0; peer < size(); ++peer) {
      at(peer).window.acknowledge_each();
      give_credit(peer);
    }
  }
  supervisor_.notes().show(note(WaitNote::Kind::finished, nullptr));
  wait_for_credits();
  const Deadline deadline(setup_.timeout);
  if (!messenger_->wait_for_kept(deadline, state_.stop()) && !state_.has_failed()) {
    throw Error(ErrorCode::timeout,
                concat(setup_.own_text(), " waited ", setup_.timeout.count(),
                       " ms in finish() for the other ranks to take its last packets (slow ranks "
                       "need a longer timeout)"));
  }
}

// Waits until the peers have received every eager message of this rank.
void Messages::wait_for_credits() {
  Lock lock(core_->mutex);
  for (const int peer : peers_with_unreceived()) post_control(peer, PacketHeader::Kind::flush);
  const auto is_over = [&] {
    const std::vector<int> peers = peers_with_unreceived();
    return state_.has_failed() || peers.empty() || !at(peers.front()).lost.empty();
  };
  PausableTimeout pausable(setup_.timeout);
  while (!is_over() && !pausable.over()) {
    const Deadline look(setup_.stall_after);
    core_->changed.wait_until(lock, std::min(look.at(), pausable.slice().at()), is_over);
    pausable.look();
    if (is_over() || !look.passed()) continue;
    const int peer = peers_with_unreceived().front();
    lock.unlock();
    const auto finished = supervisor_.notes().find_finished(peer);
    lock.lock();
    // Once all packets of a finished peer are handled here, no further credit comes.
    const std::uint64_t handled = messenger_->handled(setup_.transport_rank(peer));
    const auto self = static_cast<std::size_t>(setup_.rank);
    const bool all_received = at(peer).window.unreceived().empty();
    if (finished && finished->posted[self] == handled && !all_received) break;
  }
  const std::vector<int> left = peers_with_unreceived();
  if (left.empty() || state_.has_failed()) return;
  const std::size_t messages = at(left.front()).window.unreceived().size();
  lock.unlock();
  supervisor_.left(left.front(), messages, !pausable.over());
}

}  // namespace bp
