// Ranks that send no heartbeats.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>
#include <thread>

#include "base/system/fd.h"
#include "comm/store/keepalive.h"
#include "tests/unit/store_raw_peer.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;

class StoreSilenceTest : public StoreTest {
 protected:
  explicit StoreSilenceTest(std::chrono::milliseconds limit = 500ms) : StoreTest(kSoon, limit) {}
};

// For tests in which no heartbeat has to arrive in time.
class StoreShortSilenceTest : public StoreSilenceTest {
 protected:
  StoreShortSilenceTest() : StoreSilenceTest(100ms) {}
};

// docs/acceptance.md, Failures: Only a rank without heartbeats counts as silent.
TEST_F(StoreSilenceTest, OnlyARankWithoutHeartbeatsIsSilent) {
  const auto idle = client(2);  // the program is idle, but its client sends heartbeats
  client(3)->goodbye();
  RawPeer stopped(server_->address());
  stopped.join(key_, 1);
  EXPECT_THAT(events_.until("silent 1"),
              AllOf(Contains("silent 1"), Not(Contains("silent 2")), Not(Contains("silent 3"))));
  EXPECT_FALSE(idle->job_failure().has_value()) << "a silent rank is not a failure of the job";
  stopped.send(stopped.sealed({.op = StoreOp::alive}));
  EXPECT_EQ(events_.until("back 1").back(), "back 1");
  client()->set("key", "value");
}

// Its requests wait while it reads the answers, and its heartbeats would wait behind them.
TEST_F(StoreSilenceTest, SlowReaderIsNotSilent) {
  const auto store = client();
  store->set("value", std::string(std::size_t{1} << 20, 'v'));
  RawPeer slow(server_->address());
  slow.join(key_, 1);
  constexpr std::uint64_t kRequests = 60;
  std::string frames;
  for (std::uint64_t id = 0; id < kRequests; ++id) {
    frames += slow.sealed({.op = StoreOp::find, .id = id, .strings = {"value"}});
  }
  slow.send(frames);
  for (std::uint64_t id = 0; id < kRequests; ++id) {
    std::this_thread::sleep_for(15ms);
    EXPECT_EQ(slow.receive_message().id, id);
  }
  client(2)->goodbye();
  EXPECT_THAT(events_.until("goodbye 2"), Not(Contains("silent 1")));
}

TEST_F(StoreShortSilenceTest, HalfAFrameCountsAsAHeartbeat) {
  RawPeer slow(server_->address());
  slow.join(key_, 1);
  EXPECT_EQ(events_.until("silent 1").back(), "silent 1");
  const std::string frame = slow.sealed({.op = StoreOp::set, .strings = {"key", "value"}});
  slow.send(frame.substr(0, 10));
  EXPECT_EQ(events_.until("back 1").back(), "back 1");
  slow.send(frame.substr(10));
  slow.receive_sealed(StoreOp::done);
  EXPECT_EQ(client()->find("key"), "value");
}

TEST(StoreSocket, IsKeptUntilTheSilenceLimit) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  prepare_store_socket(socket.get(), std::chrono::seconds{30});
  const auto value_of = [&](int option) {
    int value = -1;
    socklen_t size = sizeof value;
    return ::getsockopt(socket.get(), IPPROTO_TCP, option, &value, &size) == 0 ? value : -1;
  };
  const bool repeats_each_second = value_of(44) == 1'000;  // TCP_RTO_MAX_MS
  EXPECT_EQ(value_of(TCP_USER_TIMEOUT), repeats_each_second ? 30'000 : 62'000);
}

}  // namespace
}  // namespace bp
