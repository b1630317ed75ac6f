// Messages between ranks that are threads, in every order that completes if each message waits only
// for its own receive.
#include "tests/ranks/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "bp/collective.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Backends,
    Messages,
    testing::Values(MessageCase{},
                    MessageCase{.wire = Wire::shm, .name = "shm"},
                    MessageCase{.wire = Wire::gloo, .name = "gloo"},
                    MessageCase{
                        .wire = Wire::gloo, .backend = "gloo-native", .name = "gloo_native"},
                    MessageCase{.wire = Wire::shm, .local_sizes = {1, 1}, .name = "two_hosts"}),
    [](const auto& param) { return param.param.name; });

// The pattern that collective.h recommends: one of the two ranks sends asynchronously.
// docs/acceptance.md, Messages: Programs send and receive their own messages, in any order, beside
// collectives and within groups, over every backend.
TEST_P(Messages, SendAsyncThenReceive) {
  for (const std::size_t count : {kShortContent, kLongContent}) {
    run(2, [&](Communicator& comm) {
      const int peer = 1 - comm.rank();
      const auto out = content(comm.rank(), peer, 0, count);
      std::vector<std::int64_t> in(count);
      Work sent = send_async(comm, const_view(out), peer);
      receive(comm, view(in), peer);
      sent.wait();
      EXPECT_EQ(in, content(peer, comm.rank(), 0, count));
    });
  }
}

TEST_P(Messages, ReceiveAsyncThenSend) {
  for (const std::size_t count : {kShortContent, kLongContent}) {
    run(2, [&](Communicator& comm) {
      const int peer = 1 - comm.rank();
      const auto out = content(comm.rank(), peer, 0, count);
      std::vector<std::int64_t> in(count);
      Work received = receive_async(comm, view(in), peer);
      send(comm, const_view(out), peer);
      received.wait();
      EXPECT_EQ(in, content(peer, comm.rank(), 0, count));
    });
  }
}

TEST_P(Messages, ReceivesPostedInAnyOrderOfTags) {
  run(2, [](Communicator& comm) {
    constexpr int kMany = 40;  // more than are sent before their receives
    const int peer = 1 - comm.rank();
    std::vector<std::vector<std::int64_t>> out;
    std::vector<Work> sends;
    for (int tag = 0; tag < kMany; ++tag) {
      out.push_back(content(comm.rank(), peer, tag, tag % 5 == 0 ? kLongContent : kShortContent));
      sends.push_back(send_async(comm, const_view(out.back()), peer, {.tag = tag}));
    }
    std::vector<std::vector<std::int64_t>> in(kMany);
    for (int tag = kMany - 1; tag >= 0; --tag) {
      auto& data = in[static_cast<std::size_t>(tag)];
      data.resize(tag % 5 == 0 ? kLongContent : kShortContent);
      const MessageStatus status = receive(comm, view(data), peer, {.tag = tag});
      EXPECT_EQ(status.sender, peer);
      EXPECT_EQ(status.tag, tag);
      EXPECT_EQ(status.count, data.size());
      EXPECT_EQ(data, content(peer, comm.rank(), tag, data.size())) << tag;
    }
    for (Work& sent : sends) sent.wait();
  });
}

// Short and long messages travel differently but must keep their order.
TEST_P(Messages, OfOneTagDoNotOvertakeEachOther) {
  run(3, [](Communicator& comm) {
    constexpr int kMany = 60;
    const auto length_of = [](int i) { return i % 7 == 3 ? kLongContent / 8 : kShortContent; };
    if (comm.rank() > 0) {
      std::vector<std::vector<std::int64_t>> out;
      std::vector<Work> sends;
      for (int i = 0; i < kMany; ++i) {
        out.push_back(content(comm.rank(), 0, i, length_of(i)));
        sends.push_back(send_async(comm, const_view(out.back()), 0, {.tag = 5}));
      }
      for (Work& sent : sends) sent.wait();
      return;
    }
    std::vector<int> next = {0, 0, 0};
    std::vector<std::int64_t> data(kLongContent);
    for (int i = 0; i < 2 * kMany; ++i) {
      const auto status =
          receive(comm, view(data), kAnySource, {.tag = i % 2 == 0 ? 5 : kAnyTag, .at_most = true});
      int& number = next[static_cast<std::size_t>(status.sender)];
      const auto wanted = content(status.sender, 0, number, length_of(number));
      ASSERT_EQ(status.count, wanted.size()) << number;
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), data.begin())) << number;
      EXPECT_EQ(status.tag, 5);
      ++number;
    }
    EXPECT_THAT(next, testing::ElementsAre(0, kMany, kMany));
  });
}

TEST_P(Messages, FirstPostedReceiveGetsTheMessageThatItMatches) {
  run(2, [](Communicator& comm) {
    if (comm.rank() == 1) {
      for (int i = 0; i < 3; ++i) {
        const auto out = content(1, 0, i, kShortContent);
        send(comm, const_view(out), 0, {.tag = i == 1 ? 8 : 7});
      }
      return;
    }
    std::vector<std::int64_t> any(kShortContent);
    std::vector<std::int64_t> seven(kShortContent);
    std::vector<std::int64_t> eight(kShortContent);
    MessageStatus status;
    Work first = receive_async(comm, view(any), kAnySource, {.tag = 7}, &status);
    Work second = receive_async(comm, view(eight), kAnySource, {.tag = 8});
    Work third = receive_async(comm, view(seven), 1, {.tag = 7});
    third.wait();  // the receive that was posted last is waited for first
    second.wait();
    first.wait();
    EXPECT_EQ(status.sender, 1);
    EXPECT_EQ(any, content(1, 0, 0, kShortContent));
    EXPECT_EQ(eight, content(1, 0, 1, kShortContent));
    EXPECT_EQ(seven, content(1, 0, 2, kShortContent));
  });
}

// The data of a long message may be written straight into the buffer of a posted receive. All these
// messages have one length, so the match depends on the receive with the wildcard.
TEST_P(Messages, LongMessagesMatchInOrderBesideAWildcardReceive) {
  run(2, [](Communicator& comm) {
    constexpr std::size_t kMany = 5;
    for (const auto& [source, tag] : {std::pair(kAnySource, 7), std::pair(1, kAnyTag)}) {
      for (std::size_t any = 0; any < kMany; ++any) {
        std::vector<std::vector<std::int64_t>> data(kMany);
        std::vector<Work> works;
        for (std::size_t i = 0; comm.rank() == 0 && i < kMany; ++i) {
          data[i].resize(kLongContent / 10);
          works.push_back(i == any ? receive_async(comm, view(data[i]), source, {.tag = tag})
                                   : receive_async(comm, view(data[i]), 1, {.tag = 7}));
        }
        barrier(comm);
        for (std::size_t i = 0; comm.rank() == 1 && i < kMany; ++i) {
          data[i] = content(1, 0, static_cast<int>(i), kLongContent / 10);
          works.push_back(send_async(comm, const_view(data[i]), 0, {.tag = 7}));
        }
        for (Work& work : works) work.wait();
        for (std::size_t i = 0; i < kMany; ++i) {
          ASSERT_EQ(data[i], content(1, 0, static_cast<int>(i), kLongContent / 10))
              << any << " " << i;
        }
      }
    }
  });
}

TEST_P(Messages, CollectivesCompleteBesideMessages) {
  run(3, [](Communicator& comm) {
    const int next = (comm.rank() + 1) % 3;
    const int previous = (comm.rank() + 2) % 3;
    const auto out = content(comm.rank(), next, 0, kLongContent);
    std::vector<std::int64_t> in(kLongContent);
    Work received = receive_async(comm, view(in), previous);
    std::vector<std::int64_t> sum = {comm.rank() + 1};
    all_reduce(comm, view(sum));
    EXPECT_EQ(sum[0], 6);
    std::vector<std::int64_t> later = {comm.rank() + 1};
    Work reduced = all_reduce_async(comm, view(later));
    Work sent = send_async(comm, const_view(out), next);
    barrier(comm);
    received.wait();
    sent.wait();
    reduced.wait();
    EXPECT_EQ(later[0], 6);
    EXPECT_EQ(in, content(previous, comm.rank(), 0, kLongContent));
  });
}

TEST_P(Messages, OfGroupsStaySeparate) {
  run(4, [](Communicator& comm) {
    Communicator group = comm.split(comm.rank() % 2);
    const int peer = 1 - group.rank();
    for (const std::size_t count : {kShortContent, kLongContent}) {
      const auto out = content(comm.rank(), 0, 1, count);
      std::vector<std::int64_t> in(count);
      Work sent = send_async(group, const_view(out), peer, {.tag = 1});
      const auto status = receive(group, view(in), kAnySource, {.tag = 1});
      sent.wait();
      EXPECT_EQ(status.sender, peer);
      EXPECT_EQ(in, content((comm.rank() + 2) % 4, 0, 1, count));
    }
  });
}

TEST_P(Messages, DoneBecomesTrueWithoutAWait) {
  run(2, [](Communicator& comm) {
    const auto out = content(comm.rank(), 1, 0, kLongContent);
    std::vector<std::int64_t> in(kLongContent);
    Work work =
        comm.rank() == 0 ? send_async(comm, const_view(out), 1) : receive_async(comm, view(in), 0);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!work.done() && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(work.done());
    EXPECT_TRUE(work.wait_for(std::chrono::milliseconds(0)));
    EXPECT_EQ(in, comm.rank() == 1 ? content(0, 1, 0, kLongContent) : in);
  });
}

// Four threads of each rank exchange messages with those of the other. One of them is late, and
// meanwhile a thread of each rank waits for the other rank. That is not a circle.
// docs/acceptance.md, Messages: Several threads of a rank may send and receive.
TEST_P(Messages, FromSeveralThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  run(2, [](Communicator& comm) {
    const int peer = 1 - comm.rank();
    const auto exchange = [&](int thread) {
      std::vector<std::int64_t> in(kShortContent);
      for (int i = 0; i < kEach; ++i) {
        const auto out = content(comm.rank(), thread, i, kShortContent);
        Work sent = send_async(comm, const_view(out), peer, {.tag = thread});
        receive(comm, view(in), peer, {.tag = thread});
        sent.wait();
        ASSERT_EQ(in, content(peer, thread, i, kShortContent));
      }
      if (thread == 3 && comm.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));  // five stalls
        send(comm, const_view(in), peer, {.tag = 10});
      } else if (thread == 3) {
        receive(comm, view(in), peer, {.tag = 10});
        send(comm, const_view(in), peer, {.tag = 11});
      } else if (thread == 0 && comm.rank() == 0) {
        receive(comm, view(in), peer, {.tag = 11});
      }
    };
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(exchange, thread);
    for (std::thread& thread : threads) thread.join();
  });
}

void send_to_oneself(Communicator& comm) {
  for (const std::size_t count : {std::size_t{0}, kShortContent, kLongContent}) {
    const int self = comm.rank();
    const auto out = content(self, self, 0, count);
    std::vector<std::int64_t> in(count);
    Work sent = send_async(comm, const_view(out), self, {.tag = 3});
    const auto status = receive(comm, view(in), self, {.tag = 3});
    sent.wait();
    EXPECT_EQ(status.count, count);
    EXPECT_EQ(in, out);
    std::vector<std::int64_t> again(count);
    Work received = receive_async(comm, view(again), kAnySource, {.tag = kAnyTag});
    send(comm, const_view(out), self);
    received.wait();
    EXPECT_EQ(again, out);
  }
}

TEST_P(Messages, ToOneself) { run(2, send_to_oneself); }

TEST(MessagesOfOneRank, ToOneself) { run_ranks(1, send_to_oneself); }

}  // namespace
}  // namespace bp::test
