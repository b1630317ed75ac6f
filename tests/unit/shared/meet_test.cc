// Ranks of one host that come to share memory, as threads; and who else comes to their sockets.
#include "comm/shared/meet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/hmac.h"
#include "base/job_key.h"
#include "bp/error.h"
#include "comm/peers/endpoint.h"
#include "comm/peers/handshake.h"
#include "tests/support/memory_store.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class MeetTest : public testing::Test {
 protected:
  // Ranks first .. first + count - 1 meet, each with its own key; what each got, or its error.
  struct Met {
    std::shared_ptr<SharedHost> host;
    std::string error;
  };
  std::vector<Met> meet(int first,
                        const std::vector<JobKey>& keys,
                        std::chrono::milliseconds time) {
    const int count = static_cast<int>(keys.size());
    std::vector<Met> met(keys.size());
    std::vector<std::thread> threads;
    for (int local = 0; local < count; ++local) {
      threads.emplace_back([&, local] {
        const auto index = static_cast<std::size_t>(local);
        auto store = server_.connect(first + local);
        try {
          met[index].host = meet_on_host({first + local, first, count, keys[index], time}, *store);
        } catch (const Error& error) {
          met[index].error = error.what();
        }
        store->goodbye();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return met;
  }

  // A stranger's connection to the socket of a rank, once that listens.
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

TEST_F(MeetTest, EachSeesTheMemoryOfAll) {
  const auto met = meet(2, {key_, key_, key_}, 20s);
  for (const Met& each : met) ASSERT_EQ(each.error, "");
  for (int writer = 0; writer < 3; ++writer) {
    SharedHost& host = *met[static_cast<std::size_t>(writer)].host;
    *host.own().at(host.own().allocate(1)) = std::byte(writer + 1);
  }
  for (const Met& reader : met) {
    for (int of = 0; of < 3; ++of) {
      EXPECT_EQ(*reader.host->at(of, 0), std::byte(of + 1));
      EXPECT_FALSE(reader.host->is_gone(of));
    }
  }
}

TEST_F(MeetTest, WhoIsGoneIsNoticed) {
  auto met = meet(0, {key_, key_}, 20s);
  ASSERT_TRUE(met[0].host && met[1].host);
  met[1].host.reset();
  EXPECT_TRUE(met[0].host->is_gone(1));
  EXPECT_FALSE(met[0].host->is_gone(0));
}

TEST_F(MeetTest, AnotherJobsKeyIsRefused) {
  const auto met = meet(0, {key_, random_job_key()}, 300ms);
  EXPECT_EQ(met[1].error,
            "rank 1 waited 300 ms for rank 0 to share memory: it closes connections during the "
            "handshake (has it another job's key?)");
  EXPECT_EQ(met[0].error, "rank 0 waited 300 ms for rank 1 to share memory");
}

TEST_F(MeetTest, WhoDoesNotComeIsNamed) {
  auto store = server_.connect(0);
  try {
    (void)meet_on_host({0, 0, 3, key_, 50ms}, *store);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_STREQ(error.what(), "rank 0 waited 50 ms for ranks 1, 2 to share memory");
  }
  store->goodbye();
}

TEST_F(MeetTest, AFailedJobEndsTheWait) {
  std::thread other([this] {
    auto store = server_.connect(1);
    (void)store->get("shm/0", 10s);
    store->fail_job({1, "io: the disk is full"});
    store->goodbye();
  });
  auto store = server_.connect(0);
  try {
    (void)meet_on_host({0, 0, 2, key_, 20s}, *store);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::aborted);
    EXPECT_THAT(error.what(), HasSubstr("the disk is full"));
  }
  other.join();
  store->goodbye();
}

// Strangers of our own user: fifty that say nothing, and one each that says nonsense, that reflects
// what it is told, and that leaves at once. None delays the ranks, none is handed anything.
TEST_F(MeetTest, StrangersAreTurnedAway) {
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
    const auto host = meet_on_host({1, 0, 2, key_, 20s}, *store);
    EXPECT_FALSE(host->is_gone(0));
    (void)store->get("first/done", 10s);
    store->goodbye();
  });
  auto store = server_.connect(0);
  const auto host = meet_on_host({0, 0, 2, key_, 20s}, *store);
  EXPECT_FALSE(host->is_gone(1));
  store->set("first/done", "");
  strangers.join();
  late.join();
  store->goodbye();
}

}  // namespace
}  // namespace bp::test
