// The errors that ranks get if their messages do not match, do not arrive, or come from a dead
// rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "bp/log.h"
#include "bp/store.h"
#include "comm/engine/api/impl.h"
#include "comm/message/circle.h"
#include "tests/support/refusal.h"
#include "trouble_fixture.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

class MessageTrouble : public Trouble {};
INSTANTIATE_TEST_SUITE_P(Wires,
                         MessageTrouble,
                         testing::Values(Wire::inproc, Wire::gloo, Wire::shm),
                         [](const auto& param) {
                           return param.param == Wire::inproc ? "inproc"
                                  : param.param == Wire::gloo ? "gloo"
                                                              : "shm";
                         });

constexpr std::size_t kLongMessage = 20'000;

TEST(MessageArguments, AreCheckedBeforeAnythingIsSent) {
  run_ranks(2, [](Communicator& comm) {
    std::vector<float> two(2);
    std::vector<float> many(kLongMessage);
    EXPECT_EQ(refusal_of([&] { send(comm, view(two), 1 - comm.rank(), {.tag = -1}); }),
              "send: tag is -1; tags begin with 0");
    EXPECT_EQ(refusal_of([&] { send(comm, view(two), 0, {.at_most = true, .name = "x"}); }),
              "send 'x': at_most is for receives");
    EXPECT_EQ(refusal_of([&] { receive(comm, view(two), 0, {.tag = -2}); }),
              "receive: tag is -2; tags begin with 0, and kAnyTag is -1");
    EXPECT_EQ(refusal_of([&] { receive(comm, view(two), 2); }),
              "receive: sender is 2; the ranks are 0 to 1");
    EXPECT_THAT(refusal_of([&] { receive(comm, view(two), comm.rank()); }),
                HasSubstr("this rank has sent no such message to itself, and would wait for ever"));
    EXPECT_THAT(refusal_of([&] { send(comm, view(many), comm.rank()); }),
                HasSubstr("this rank has posted no receive for this message to itself"));
    const auto fill = [&] {
      for (;;) send(comm, view(two), comm.rank());
    };
    EXPECT_THAT(refusal_of(fill),
                HasSubstr("this rank has posted no receive for this message to itself"));
    for (int i = 0; i < 32; ++i) receive(comm, view(two), comm.rank());
    barrier(comm);  // the communicator is still usable
  });
}

// finish() reads how many packets a finished peer has posted for this rank.
TEST(MessageNotes, ThatAreTooShortAreIgnored) {
  RanksOptions options;
  options.communicator.timeout = 600ms;
  options.stall_after = 20ms;
  std::binary_semaphore is_over(0);
  const auto texts = try_ranks(
      2,
      [&](Communicator& comm) {
        std::vector<float> data(10);
        if (comm.rank() == 0) {
          send(comm, view(data), 1);
          const std::string text = test::error_of([&] { comm.finish(); });
          is_over.release();
          throw std::runtime_error(text);
        }
        comm.impl().job()->store().set("comm/world/waits/1.", to_text(WaitNote{}));
        is_over.acquire();
      },
      options);
  EXPECT_EQ(texts[0],
            "timeout: rank 0 waited 600 ms in finish() for rank 1 to receive 1 message of it");
}

// docs/acceptance.md, Messages: A message with another count, type or name than its receiver
// expects is an error on all ranks.
TEST_P(MessageTrouble, OtherCountsTypesAndNamesAreReportedToAllRanks) {
  struct Pair {
    std::size_t count;
    DataType type;
    std::string name;
    std::string text;
  };
  const std::vector<Pair> wrong = {
      {11, DataType::f32, "x", "rank 1 for message of 11 f32 from rank 0 to rank 1 with tag 9 'x'"},
      {10, DataType::i32, "x", "rank 1 for message of 10 i32 from rank 0 to rank 1 with tag 9 'x'"},
      {10, DataType::f32, "y", "rank 1 for message of 10 f32 from rank 0 to rank 1 with tag 9 'y'"},
  };
  for (const Pair& pair : wrong) {
    const auto texts = errors(3, [&](Communicator& comm) {
      std::vector<float> data(11);
      const View odd{reinterpret_cast<std::byte*>(data.data()), pair.count, pair.type};
      const View usual = view(std::span(data).first(10));
      if (comm.rank() == 0) send(comm, usual, 1, {.tag = 9, .name = "x"});
      if (comm.rank() == 1) receive(comm, odd, 0, {.tag = 9, .name = pair.name});
      barrier(comm);
    });
    EXPECT_THAT(texts, Each(texts.front()));
    EXPECT_THAT(texts.front(),
                AllOf(StartsWith("mismatch: ranks disagree on message 0 from rank 0 to rank 1 of "
                                 "world: rank 0 asked for message of 10 f32 from rank 0 to rank 1 "
                                 "with tag 9 'x'; "),
                      HasSubstr(pair.text)));
    EXPECT_LT(took_, kSoon);
  }
}

// docs/acceptance.md, Messages: A message that is longer than its receiver allows is an error.
TEST_P(MessageTrouble, MessageLongerThanAtMost) {
  const auto texts = errors(2, [&](Communicator& comm) {
    std::vector<float> data(comm.rank() == 0 ? kLongMessage + 1 : kLongMessage);
    if (comm.rank() == 0) send(comm, view(data), 1);
    if (comm.rank() == 1) receive(comm, view(data), kAnySource, {.at_most = true});
  });
  EXPECT_THAT(texts,
              Each(AllOf(StartsWith("mismatch: "), HasSubstr("asked for message of 20001 f32"),
                         HasSubstr("for message of at most 20000 f32 from any rank"))));
}

// docs/acceptance.md, Messages: Ranks that wait for each other's messages in a circle are named. A
// late rank is none.
TEST_P(MessageTrouble, RanksWaitInACycle) {
  const auto texts = errors(3, [](Communicator& comm) {
    std::vector<float> data(10);
    receive(comm, view(data), (comm.rank() + 1) % 3);
    send(comm, view(data), (comm.rank() + 2) % 3);
  });
  EXPECT_THAT(texts, Each("mismatch: 3 ranks wait for each other: rank 0 in message of 10 f32 from "
                          "rank 1 to rank 0, rank 1 in message of 10 f32 from rank 2 to rank 1, "
                          "rank 2 in message of 10 f32 from rank 0 to rank 2 (send_async and "
                          "receive_async let a rank do both)"));
  EXPECT_LT(took_, kSoon);
}

TEST_P(MessageTrouble, LateRankIsNoCycle) {
  options_.stall_after = 20ms;
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(kLongMessage);
    std::vector<float> sum(1);
    for (int round = 0; round < 3; ++round) {
      if (comm.rank() == 0) {
        receive(comm, view(data), 1);
        all_reduce(comm, view(sum));
      } else {
        Work reduced = all_reduce_async(comm, view(sum));
        std::this_thread::sleep_for(200ms);
        send(comm, view(data), 0);
        reduced.wait();
      }
    }
  });
  EXPECT_THAT(texts, Each(""));
}

// docs/acceptance.md, Messages: A receive from a rank that has finished is an error that names the
// rank.
TEST_P(MessageTrouble, RankThatFinishedWithoutSendingIsNamed) {
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(10);
    if (comm.rank() == 0) receive(comm, view(data), 1, {.tag = 2});
  });
  EXPECT_EQ(texts[0],
            "mismatch: a message is waited for in vain: rank 0 in message of 10 f32 from rank 1 to "
            "rank 0 with tag 2, rank 1 has finished (each send needs a receive, and each receive a "
            "send, before finish())");
  EXPECT_LT(took_, kSoon);
}

// docs/acceptance.md, Messages: finish() reports messages that no rank has received.
TEST_P(MessageTrouble, FinishReportsMessagesThatNoRankReceives) {
  for (const std::size_t count : {std::size_t{10}, kLongMessage}) {
    const auto texts = errors(2, [&](Communicator& comm) {
      std::vector<float> data(count);
      Work sent;
      if (comm.rank() == 0) sent = send_async(comm, view(data), 1);
      if (comm.rank() == 0) comm.finish();
    });
    EXPECT_THAT(texts[0], AllOf(StartsWith("mismatch: "), HasSubstr("rank 1 has finished"),
                                HasSubstr("each send needs a receive")));
    EXPECT_LT(took_, kSoon);
  }
}

// docs/acceptance.md, Messages: A receive that reaches its deadline names the ranks and the
// messages that have arrived.
TEST_P(MessageTrouble, TimeoutNamesTheRanksAndTheArrivedMessages) {
  options_.communicator.timeout = 1s;
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(10);
    if (comm.rank() == 1) send(comm, view(data), 0, {.tag = 4, .name = "y"});
    if (comm.rank() == 0) receive(comm, view(data), 1, {.tag = 5, .name = "x"});
    while (!comm.store()->job_failure()) std::this_thread::sleep_for(1ms);
  });
  EXPECT_EQ(texts[0],
            "timeout: rank 0 waited 1000 ms for rank 1 in message of 10 f32 from rank 1 to rank 0 "
            "with tag 5 'x': no message came that this receive matches; there came 10 f32 from "
            "rank 1 with tag 4 'y' (slow ranks need a longer timeout)");
}

TEST_P(MessageTrouble, UnreceivedSendEndsAtItsTimeout) {
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(kLongMessage);
    if (comm.rank() == 1) send(comm, view(data), 0, {.timeout = 300ms});
    while (!comm.store()->job_failure()) std::this_thread::sleep_for(1ms);
  });
  EXPECT_EQ(texts[1],
            "timeout: rank 1 waited 300 ms for rank 0 in message of 20000 f32 from rank 1 to rank "
            "0: it has not received the message (slow ranks need a longer timeout)");
}

// docs/acceptance.md, Messages: A receive that waits long is logged once.
TEST_P(MessageTrouble, AReceiveThatWaitsLongIsLoggedOnce) {
  std::mutex mutex;
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view text) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(text);
  });
  const auto texts = errors(3, [](Communicator& comm) {
    std::vector<float> data(10);
    if (comm.rank() == 0) receive(comm, view(data), 1, {.tag = 7});
    if (comm.rank() == 1) std::this_thread::sleep_for(1500ms);  // 15 stalls
    if (comm.rank() == 1) send(comm, const_view(data), 0, {.tag = 7});
  });
  set_log_sink({});
  EXPECT_THAT(texts, Each(""));
  EXPECT_THAT(lines, testing::ElementsAre("rank 0 has waited 1 s for rank 1 in message of 10 f32 "
                                          "from rank 1 to rank 0 with tag 7"));
}

TEST_P(MessageTrouble, ReceiveTimesOutOnlyWhileWaitedFor) {
  options_.communicator.timeout = 1500ms;
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(10);
    Work received;
    if (comm.rank() == 0) received = receive_async(comm, view(data), 1);
    std::this_thread::sleep_for(1700ms);
    EXPECT_EQ(received.done(), comm.rank() == 1);
    EXPECT_EQ(received.wait_for(10ms), comm.rank() == 1);
    barrier(comm);
    if (comm.rank() == 1) send(comm, view(data), 0);
    received.wait();
  });
  EXPECT_THAT(texts, Each(""));
}

// Rank 1 dies while the others wait for it, wait for any rank, or have sent half of their data.
// docs/acceptance.md, Messages: A receive names the rank that died, even one from any rank.
TEST_P(MessageTrouble, DeadRankIsNamed) {
  const std::vector<Body> waits = {[](Communicator& comm) {
                                     std::vector<float> data(10);
                                     receive(comm, view(data), 1);
                                   },
                                   [](Communicator& comm) {
                                     std::vector<float> data(10);
                                     receive(comm, view(data), kAnySource, {.tag = kAnyTag});
                                   },
                                   [](Communicator& comm) {
                                     std::vector<float> data(kLongMessage);
                                     send(comm, view(data), 1);
                                   },
                                   [](Communicator& comm) {
                                     std::vector<float> data(10);
                                     Work work = receive_async(comm, view(data), 1);
                                     work.wait();
                                   }};
  for (const Body& wait : waits) {
    const auto texts = errors(3, [&](Communicator& comm) {
      barrier(comm);
      if (comm.rank() == 1) throw std::runtime_error("of its own doing");
      wait(comm);
    });
    for (const std::size_t rank : {0, 2}) {
      EXPECT_THAT(texts[rank], AllOf(AnyOf(StartsWith("peer_lost: "), StartsWith("aborted: ")),
                                     HasSubstr("rank 1")));
    }
    EXPECT_LT(took_, kSoon);
  }
}

TEST_P(MessageTrouble, FailureElsewhereEndsTheWait) {
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(10);
    Work received;
    if (comm.rank() == 0) received = receive_async(comm, view(data), 1);
    if (comm.rank() == 0) send(comm, view(data), 1);
    if (comm.rank() == 1) {
      receive(comm, view(data), 0);
      comm.abort("enough");
    }
    received.wait();
    if (comm.rank() == 1) barrier(comm);
  });
  EXPECT_THAT(texts[0],
              AllOf(StartsWith("aborted: rank 0 stopped in message of 10 f32 from rank 1"),
                    HasSubstr("rank 1 aborted: enough")));
  EXPECT_LT(took_, kSoon);
}

}  // namespace
}  // namespace bp::test
