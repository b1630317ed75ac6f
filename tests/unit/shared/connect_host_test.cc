// Ranks of one host that share their memory, as threads, and strangers at their sockets.
#include "comm/shared/connect_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/keys/hmac.h"
#include "base/keys/job_key.h"
#include "bp/error.h"
#include "comm/peers/endpoint.h"
#include "comm/peers/peer_handshake.h"
#include "comm/transport/transport.h"
#include "tests/support/memory_store.h"
#include "tests/support/open_memory.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class ConnectHostTest : public testing::Test {
 protected:
  // What a rank got, or its error.
  struct Connected {
    std::shared_ptr<SharedHost> host;
    std::string error;
  };
  // Connects the ranks from `first` on, each with its own key.
  std::vector<Connected> connect(int first,
                                 const std::vector<JobKey>& keys,
                                 std::chrono::milliseconds time) {
    const int count = static_cast<int>(keys.size());
    std::vector<Connected> ranks(keys.size());
    std::vector<std::thread> threads;
    for (int local = 0; local < count; ++local) {
      threads.emplace_back([&, local] {
        const auto index = static_cast<std::size_t>(local);
        auto store = server_.connect(first + local);
        try {
          ranks[index].host =
              connect_host({first + local, first, count, keys[index], time}, *store);
        } catch (const Error& error) {
          ranks[index].error = error.what();
        }
        store->goodbye();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return ranks;
  }

  // Returns a stranger's connection to the socket of a rank, once the rank listens.
  Fd connect_to(int rank) {
    auto store = server_.connect(99);
    const auto at = Endpoint::decode(store->get("shm/" + std::to_string(rank), 10s));
    store->goodbye();
    Fd link(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(link.get(), reinterpret_cast<const sockaddr*>(&at->address), at->size), 0);
    return link;
  }

  MemoryStoreServer server_;
  const JobKey key_ = random_job_key();
};

TEST_F(ConnectHostTest, EachRankSeesTheMemoryOfAll) {
  const auto ranks = connect(2, {key_, key_, key_}, 20s);
  for (const Connected& each : ranks) ASSERT_EQ(each.error, "");
  for (int writer = 0; writer < 3; ++writer) {
    SharedHost& host = *ranks[static_cast<std::size_t>(writer)].host;
    *host.own().at(host.own().allocate(1)) = std::byte(writer + 1);
  }
  for (const Connected& reader : ranks) {
    for (int of = 0; of < 3; ++of) {
      EXPECT_EQ(*reader.host->at(of, 0), std::byte(of + 1));
      EXPECT_FALSE(reader.host->is_gone(of));
    }
  }
}

TEST_F(ConnectHostTest, RanksAccessTheOtherMemoryOfAll) {
  const auto ranks = connect(0, {key_, key_}, 20s);
  ASSERT_TRUE(ranks[0].host && ranks[1].host);
  ASSERT_EQ(ranks[0].host->is_open(), kernel_opens_memory());
  ASSERT_EQ(ranks[1].host->is_open(), kernel_opens_memory());
  if (!kernel_opens_memory()) {
    GTEST_SKIP() << "the kernel lets no process access the memory of another";
  }
  std::vector<std::byte> theirs(std::size_t{5} << 20, std::byte{7});  // two pieces of a write
  std::vector<std::byte> own(theirs.size());
  const auto address = reinterpret_cast<std::uintptr_t>(theirs.data());
  ranks[0].host->read(1, own.data(), address, own.size());
  EXPECT_EQ(own, theirs);
  own.assign(own.size(), std::byte{8});
  ranks[0].host->write(1, address, own.data(), own.size());
  EXPECT_EQ(own, theirs);
}

TEST_F(ConnectHostTest, RankThatLeftIsDetected) {
  auto ranks = connect(0, {key_, key_}, 20s);
  ASSERT_TRUE(ranks[0].host && ranks[1].host);
  ranks[1].host.reset();
  EXPECT_TRUE(ranks[0].host->is_gone(1));
  std::byte one{};
  EXPECT_THROW(ranks[0].host->write(1, reinterpret_cast<std::uintptr_t>(&one), &one, 1),
               TransportFailure);
  EXPECT_FALSE(ranks[0].host->is_gone(0));
}

TEST_F(ConnectHostTest, AnotherJobsKeyIsRefused) {
  const auto ranks = connect(0, {key_, random_job_key()}, 300ms);
  EXPECT_EQ(ranks[1].error,
            "rank 1 waited 300 ms for rank 0 to share memory: it closes connections during the "
            "handshake (has it another job's key?)");
  EXPECT_EQ(ranks[0].error, "rank 0 waited 300 ms for rank 1 to share memory");
}

TEST_F(ConnectHostTest, AbsentRanksAreNamed) {
  auto store = server_.connect(0);
  try {
    (void)connect_host({0, 0, 3, key_, 50ms}, *store);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_STREQ(error.what(), "rank 0 waited 50 ms for ranks 1, 2 to share memory");
  }
  store->goodbye();
}

TEST_F(ConnectHostTest, FailedJobEndsTheWait) {
  std::thread other([this] {
    auto store = server_.connect(1);
    (void)store->get("shm/0", 10s);
    store->fail_job({1, "io: the disk is full"});
    store->goodbye();
  });
  auto store = server_.connect(0);
  try {
    (void)connect_host({0, 0, 2, key_, 20s}, *store);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::aborted);
    EXPECT_THAT(error.what(), HasSubstr("the disk is full"));
  }
  other.join();
  store->goodbye();
}

// Strangers of the same user: fifty that send nothing, one that sends nonsense, one that reflects
// what it receives, and one that leaves at once. None delays the ranks, and none gets a descriptor.
// docs/acceptance.md, Strangers: Processes of the same host without the key are refused.
TEST_F(ConnectHostTest, StrangersAreRefused) {
  std::thread strangers([this] {
    std::vector<Fd> silent(50);
    for (Fd& each : silent) each = connect_to(0);
    const Fd nonsense = connect_to(0);
    EXPECT_GT(::send(nonsense.get(), "hello", 5, MSG_NOSIGNAL), 0);
    { const Fd gone = connect_to(0); }
    const Fd reflector = connect_to(0);
    const std::string hello = "bp peer1" + std::string(kPeerHello - 8, 'a');
    EXPECT_GT(::send(reflector.get(), hello.data(), hello.size(), MSG_NOSIGNAL), 0);
    char answer = 0;
    EXPECT_EQ(::recv(reflector.get(), &answer, 1, 0), 0);
    auto store = server_.connect(98);
    store->set("strangers/done", "");
    (void)store->get("first/done", 10s);
    store->goodbye();
  });
  std::thread late([this] {
    auto store = server_.connect(1);
    (void)store->get("strangers/done", 10s);
    const auto host = connect_host({1, 0, 2, key_, 20s}, *store);
    EXPECT_FALSE(host->is_gone(0));
    (void)store->get("first/done", 10s);
    store->goodbye();
  });
  auto store = server_.connect(0);
  const auto host = connect_host({0, 0, 2, key_, 20s}, *store);
  EXPECT_FALSE(host->is_gone(1));
  store->set("first/done", "");
  strangers.join();
  late.join();
  store->goodbye();
}

}  // namespace
}  // namespace bp::test
