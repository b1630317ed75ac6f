// Packets between the ranks of a job, one of which leaves.
#include "comm/message/messenger.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/deadline.h"
#include "comm/transport/inproc.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
constexpr std::uint64_t kGroup = 7;

// Refuses to post anything to a peer that has left, as Gloo does.
class Refusing final : public Transport {
 public:
  explicit Refusing(Transport& below) : below_(below) {}
  void peer_has_left() { left_ = true; }
  [[nodiscard]] int rank() const override { return below_.rank(); }
  [[nodiscard]] int size() const override { return below_.size(); }
  [[nodiscard]] std::unique_ptr<Transfer> post_receive(int peer,
                                                       std::uint64_t slot,
                                                       std::span<std::byte> into) override {
    if (left_) throw TransportFailure(ErrorCode::peer_lost, "it has left");
    return below_.post_receive_at_most(peer, slot, into);
  }
  [[nodiscard]] std::unique_ptr<Transfer> post_send(int peer,
                                                    std::uint64_t slot,
                                                    std::span<const std::byte> from) override {
    return below_.post_send(peer, slot, from);
  }
  void wake() override { below_.wake(); }

 private:
  Transport& below_;
  std::atomic<bool> left_{false};
};

// Blocks in its first packet until the test releases it, and keeps the numbers of all packets.
class SlowListener final : public PacketListener {
 public:
  void on_packet(int /*peer*/, const Packet& packet) override {
    std::unique_lock lock(mutex_);
    numbers_.push_back(packet.header.number);
    changed_.notify_all();
    changed_.wait_for(lock, 30s, [&] { return released_; });
  }
  void on_lost(int /*peer*/, const std::string& why) override {
    const std::lock_guard lock(mutex_);
    lost_ = why;
    changed_.notify_all();
  }
  void wait_for_first() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, 30s, [&] { return !numbers_.empty(); }));
  }
  void go_on() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  // Returns the numbers of all packets that arrived before the peer was lost.
  std::vector<std::uint64_t> wait_for_loss() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 30s, [&] { return !lost_.empty(); }));
    EXPECT_EQ(lost_, "it has left");
    return numbers_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
  std::vector<std::uint64_t> numbers_;
  std::string lost_;
};

// The others may wait only for the last credits of a rank that has finished.
TEST(Messenger, ArrivedPacketsAreHandledAfterTheirSenderLeft) {
  InprocHub hub(2);
  const auto here = hub.join(0);
  Refusing transport(*here);
  SlowListener listener;
  Messenger messenger(transport);
  messenger.add(kGroup, listener);
  messenger.open(1);
  {
    const auto there = hub.join(1);
    Messenger sender(*there);
    for (std::uint64_t number = 0; number < 4; ++number) {
      PacketHeader header;
      header.group = kGroup;
      header.number = number;
      sender.keep(0, sender.post(0, {header, {}}));
    }
    const std::atomic<bool> stop{false};
    ASSERT_TRUE(sender.wait_for_kept(Deadline(30s), stop));
    listener.wait_for_first();
  }
  transport.peer_has_left();
  listener.go_on();
  EXPECT_EQ(listener.wait_for_loss(), (std::vector<std::uint64_t>{0, 1, 2, 3}));
  messenger.remove(kGroup);
}

}  // namespace
}  // namespace bp
