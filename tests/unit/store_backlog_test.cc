// Clients that request much and read little: what the server keeps for them, and how it serves
// others meanwhile.
// docs/acceptance.md, Store: A client that asks for much and reads nothing takes bounded memory,
// and does not block others.
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <future>
#include <thread>
#include <vector>

#include "tests/unit/store_raw_peer.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kResidentMemoryTells = false;  // the sanitizer's own memory is counted too
#else
constexpr bool kResidentMemoryTells = true;
#endif

constexpr std::size_t kMebi = std::size_t{1} << 20;
// The most that the kernel buffers for a client that does not read (net.ipv4.tcp_wmem and
// tcp_rmem).
constexpr std::size_t kSocketBuffers = 16 * kMebi;

std::size_t resident_memory() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::string value_of(std::size_t i) {
  return concat("value ", i, ":") + std::string(kMebi, static_cast<char>('a' + i));
}

class StoreBacklogTest : public StoreTest {
 protected:
  // Asks for `count` values of 1 MiB, ten different ones in turn, and counts each in "asked".
  static void ask_for_values(RawPeer& peer, std::size_t count) {
    std::string frames;
    for (std::size_t i = 0; i < count; ++i) {
      frames += peer.sealed({.op = StoreOp::find, .id = i, .strings = {concat("value", i % 10)}});
      frames += peer.sealed({.op = StoreOp::add, .id = i, .number = 1, .strings = {"asked"}});
    }
    peer.send(frames);
  }

  void set_values(Store& store) {
    for (std::size_t i = 0; i < 10; ++i) store.set(concat("value", i), value_of(i));
  }
};

TEST_F(StoreBacklogTest, ClientThatDoesNotReadGetsNoFurtherAnswers) {
  const auto store = client();
  set_values(*store);
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  ask_for_values(peer, 200);
  for (int i = 0; i < 20; ++i) {
    store->set("round", concat(i));
    EXPECT_EQ(store->find("round"), concat(i));
  }
  const std::size_t answered = std::stoul(store->find("asked").value_or("0"));
  EXPECT_LE(answered * kMebi, kSocketBuffers + 2 * kMebi)
      << "at most the limit of 1 MiB and one answer may be queued";
  EXPECT_FALSE(store->job_failure().has_value()) << store->job_failure()->text;
}

TEST_F(StoreBacklogTest, LateReaderGetsAllAnswersInOrder) {
  const auto store = client();
  set_values(*store);
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  ask_for_values(peer, 100);
  EXPECT_EQ(store->find("value3"), value_of(3));
  for (std::size_t i = 0; i < 100; ++i) {
    const StoreMessage found = peer.receive_message();
    EXPECT_EQ(found.id, i);
    ASSERT_EQ(found.op, StoreOp::found) << "answer " << i;
    EXPECT_TRUE(found.strings.at(0) == value_of(i % 10)) << "answer " << i;
    EXPECT_EQ(peer.receive_message(),
              (StoreMessage{.op = StoreOp::done, .id = i, .number = static_cast<int>(i) + 1}));
  }
  EXPECT_FALSE(store->job_failure().has_value());
}

TEST_F(StoreBacklogTest, ServerMemoryDoesNotGrowWithRequests) {
  const auto store = client();
  store->set("large", std::string(kMaxStoreValue, 'x'));
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  const std::size_t before = resident_memory();
  std::string frames;
  for (std::uint64_t id = 0; id < 200; ++id) {
    frames += peer.sealed({.op = StoreOp::find, .id = id, .strings = {"large"}});
  }
  peer.send(frames);
  for (int i = 0; i < 20; ++i) store->add("calls", 1);
  const std::size_t after = resident_memory();
  EXPECT_FALSE(store->job_failure().has_value()) << store->job_failure()->text;
  if (kResidentMemoryTells) {
    EXPECT_LT(after, before + 8 * kMebi) << "the server must hold the value once";
  }
}

// The answers are 128 MiB in all, but the server holds the value only once.
TEST_F(StoreBacklogTest, WaitsForOneValueAreAllAnswered) {
  const auto store = client();
  RawPeer peer(server_->address());
  peer.join(key_, 1);
  constexpr std::uint64_t kWaits = 8;
  for (std::uint64_t id = 0; id < kWaits; ++id) {
    peer.send(peer.sealed({.op = StoreOp::get, .id = id, .strings = {"large"}}));
  }
  peer.send(peer.sealed({.op = StoreOp::add, .number = 1, .strings = {"waits"}}));
  EXPECT_EQ(peer.receive_message().op, StoreOp::done);
  const std::string large(kMaxStoreValue, 'x');
  store->set("large", large);
  for (std::uint64_t id = 0; id < kWaits; ++id) {
    const StoreMessage found = peer.receive_message();
    EXPECT_EQ(found.id, id);
    ASSERT_EQ(found.op, StoreOp::found);
    EXPECT_TRUE(found.strings.at(0) == large);
  }
}

// The server's listener blocks until another member's request has been sent too.
TEST(StoreFairness, BatchOfOneClientDoesNotBlockOthers) {
  constexpr int kBatch = 100;
  const JobKey key = random_job_key();
  std::promise<void> first_came;
  std::promise<void> other_sent;
  std::vector<int> order;  // the ranks that requested a stop
  std::promise<void> all;
  const auto listener = [&](const StoreEvent& event) {
    if (event.kind != StoreEvent::Kind::stop_requested) return;
    if (order.empty()) {
      first_came.set_value();
      other_sent.get_future().wait_for(kSoon);
    }
    std::this_thread::sleep_for(2ms);
    order.push_back(event.rank);
    if (order.size() == kBatch + 1) all.set_value();
  };
  const StoreServer server({.job = "job-1", .key = key, .world_size = 3}, listener);
  RawPeer greedy(server.address());
  greedy.join(key, 1);
  RawPeer other(server.address());
  other.join(key, 2);
  std::string frames;
  for (int i = 0; i < kBatch; ++i) frames += greedy.sealed({.op = StoreOp::stop});
  greedy.send(frames);
  first_came.get_future().wait_for(kSoon);
  other.send(other.sealed({.op = StoreOp::stop}));
  other_sent.set_value();
  ASSERT_EQ(all.get_future().wait_for(kSoon), std::future_status::ready);
  const auto served = std::find(order.begin(), order.end(), 2) - order.begin();
  EXPECT_LE(served, 3) << "requests of the first client were served before the other's";
}

}  // namespace
}  // namespace bp
