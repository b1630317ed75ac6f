#include "comm/transport/inproc.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace bp {
namespace {

// One side of a message. Guarded by the receiver's mailbox.
struct Posted {
  const std::byte* from = nullptr;  // of a send
  std::byte* into = nullptr;        // of a receive
  std::size_t bytes = 0;
  bool at_most = false;  // of a receive: fewer bytes may arrive
  bool complete = false;
  std::string failure = {};  // empty: none
};

using Key = std::pair<int, std::uint64_t>;  // (sender, slot)

// The messages to one rank that are not matched yet. Threads: the receiver and every sender, under
// the mutex.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, std::deque<Posted*>> receives;
  std::map<Key, std::deque<Posted*>> sends;
  std::vector<bool> lost;  // [rank]: that rank's transport was destroyed
};

void remove(std::map<Key, std::deque<Posted*>>& queues, const Key& key, const Posted* posted) {
  const auto found = queues.find(key);
  if (found == queues.end()) return;
  std::erase(found->second, posted);
  if (found->second.empty()) queues.erase(found);
}

Posted* take_first(std::map<Key, std::deque<Posted*>>& queues, const Key& key) {
  const auto found = queues.find(key);
  if (found == queues.end()) return nullptr;
  Posted* first = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) queues.erase(found);
  return first;
}

void deliver(const Posted& send, Posted& receive) {
  if (send.bytes > 0) std::memcpy(receive.into, send.from, send.bytes);
}

void match(Posted& send, Posted& receive) {
  if (send.bytes > receive.bytes || (send.bytes < receive.bytes && !receive.at_most)) {
    send.failure = receive.failure =
        concat(send.bytes, " bytes were sent where ", receive.bytes, " were expected");
    return;
  }
  deliver(send, receive);
  send.complete = receive.complete = true;
}

enum class Side : bool { send, receive };

class InprocTransfer : public Transfer {
 public:
  InprocTransfer(Mailbox& mailbox, Key key, Side side, int peer, Posted posted)
      : mailbox_(mailbox), key_(key), side_(side), posted_(std::move(posted)) {
    const std::lock_guard lock(mailbox_.mutex);
    auto& others = side_ == Side::send ? mailbox_.receives : mailbox_.sends;
    auto& own = side_ == Side::send ? mailbox_.sends : mailbox_.receives;
    if (Posted* other = take_first(others, key_)) {
      side_ == Side::send ? match(posted_, *other) : match(*other, posted_);
      mailbox_.changed.notify_all();
    } else if (mailbox_.lost[static_cast<std::size_t>(peer)]) {
      posted_.failure = "it has left";
    } else {
      own[key_].push_back(&posted_);
    }
  }
  ~InprocTransfer() override {
    const std::lock_guard lock(mailbox_.mutex);
    remove(side_ == Side::send ? mailbox_.sends : mailbox_.receives, key_, &posted_);
  }

  [[nodiscard]] bool wait(const Deadline& deadline, const std::atomic<bool>& stop) override {
    std::unique_lock lock(mailbox_.mutex);
    mailbox_.changed.wait_until(lock, deadline.at(), [&] {
      return posted_.complete || !posted_.failure.empty() || stop.load(std::memory_order_relaxed);
    });
    if (!posted_.failure.empty()) throw TransportFailure(ErrorCode::peer_lost, posted_.failure);
    return posted_.complete;
  }

 private:
  Mailbox& mailbox_;
  const Key key_;
  const Side side_;
  Posted posted_;
};

}  // namespace

class InprocHub::Mailboxes {
 public:
  explicit Mailboxes(int ranks) : boxes_(static_cast<std::size_t>(ranks)) {
    for (Mailbox& box : boxes_) box.lost.resize(boxes_.size());
  }
  [[nodiscard]] int size() const { return static_cast<int>(boxes_.size()); }
  Mailbox& of(int rank) { return boxes_.at(static_cast<std::size_t>(rank)); }

  void wake() {
    for (Mailbox& box : boxes_) {
      const std::lock_guard lock(box.mutex);
      box.changed.notify_all();
    }
  }

  void leave(int rank) {
    for (int other = 0; other < size(); ++other) {
      Mailbox& box = of(other);
      const std::lock_guard lock(box.mutex);
      box.lost[static_cast<std::size_t>(rank)] = true;
      for (auto* queues : {&box.receives, &box.sends}) {
        for (auto& [key, queue] : *queues) {
          if (key.first != rank && other != rank) continue;
          for (Posted* posted : queue) posted->failure = "it has left";
        }
      }
      box.changed.notify_all();
    }
  }

 private:
  std::vector<Mailbox> boxes_;
};

namespace {

class InprocTransport : public Transport {
 public:
  InprocTransport(InprocHub::Mailboxes& mailboxes, int rank) : mailboxes_(mailboxes), rank_(rank) {}
  ~InprocTransport() override { mailboxes_.leave(rank_); }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return mailboxes_.size(); }

  [[nodiscard]] std::unique_ptr<Transfer> post_receive(int peer,
                                                       std::uint64_t slot,
                                                       std::span<std::byte> into) override {
    return receive({peer, slot}, {.into = into.data(), .bytes = into.size()});
  }
  [[nodiscard]] std::unique_ptr<Transfer> post_receive_at_most(int peer,
                                                               std::uint64_t slot,
                                                               std::span<std::byte> into) override {
    return receive({peer, slot}, {.into = into.data(), .bytes = into.size(), .at_most = true});
  }
  [[nodiscard]] std::unique_ptr<Transfer> post_send(int peer,
                                                    std::uint64_t slot,
                                                    std::span<const std::byte> from) override {
    return std::make_unique<InprocTransfer>(mailboxes_.of(peer), Key{rank_, slot}, Side::send, peer,
                                            Posted{.from = from.data(), .bytes = from.size()});
  }
  void wake() override { mailboxes_.wake(); }

 private:
  [[nodiscard]] std::unique_ptr<Transfer> receive(Key key, const Posted& posted) {
    return std::make_unique<InprocTransfer>(mailboxes_.of(rank_), key, Side::receive, key.first,
                                            posted);
  }

  InprocHub::Mailboxes& mailboxes_;
  const int rank_;
};

}  // namespace

InprocHub::InprocHub(int ranks) : mailboxes_(std::make_unique<Mailboxes>(ranks)) {}
InprocHub::~InprocHub() = default;

std::unique_ptr<Transport> InprocHub::join(int rank) {
  BP_CHECK(rank >= 0 && rank < mailboxes_->size(), "a hub has ranks 0..n-1");
  return std::make_unique<InprocTransport>(*mailboxes_, rank);
}

}  // namespace bp
