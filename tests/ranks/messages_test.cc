// Messages between ranks that are threads, in every order that completes if each message waits only
// for its own receive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "bp/collective.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

// Longer than any message that is sent before its receive is posted.
constexpr std::size_t kLong = 300'000;
constexpr std::size_t kShort = 10;

struct Case {
  Wire wire = Wire::inproc;
  std::string backend = "auto";
  std::vector<int> local_sizes = {};
  std::string name = "inproc";
};

class Messages : public testing::TestWithParam<Case> {
 protected:
  void run(int ranks, const std::function<void(Communicator&)>& body) {
    RanksOptions options{.wire = GetParam().wire};
    options.communicator.backend = GetParam().backend;
    if (GetParam().local_sizes.size() > 1) options.local_sizes = {1, ranks - 1};
    run_ranks(ranks, body, options);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Backends,
    Messages,
    testing::Values(Case{},
                    Case{.wire = Wire::shm, .name = "shm"},
                    Case{.wire = Wire::gloo, .name = "gloo"},
                    Case{.wire = Wire::gloo, .backend = "gloo-native", .name = "gloo_native"},
                    Case{.wire = Wire::shm, .local_sizes = {1, 1}, .name = "two_hosts"}),
    [](const auto& param) { return param.param.name; });

// Returns data that differs between any two messages; `what` tells messages of one pair apart.
std::vector<std::int64_t> content(int from, int to, int what, std::size_t count) {
  std::vector<std::int64_t> data(count);
  std::iota(data.begin(), data.end(), (from * 64 + to) * 1'000'000'000LL + what * 1'000'000LL);
  return data;
}

// The pattern that collective.h recommends: one of the two ranks sends asynchronously.
// docs/acceptance.md, Messages: Programs send and receive their own messages, in any order, beside
// collectives and within groups, over every backend.
TEST_P(Messages, SendAsyncThenReceive) {
  for (const std::size_t count : {kShort, kLong}) {
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
  for (const std::size_t count : {kShort, kLong}) {
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
      out.push_back(content(comm.rank(), peer, tag, tag % 5 == 0 ? kLong : kShort));
      sends.push_back(send_async(comm, const_view(out.back()), peer, {.tag = tag}));
    }
    std::vector<std::vector<std::int64_t>> in(kMany);
    for (int tag = kMany - 1; tag >= 0; --tag) {
      auto& data = in[static_cast<std::size_t>(tag)];
      data.resize(tag % 5 == 0 ? kLong : kShort);
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
    const auto length_of = [](int i) { return i % 7 == 3 ? kLong / 8 : kShort; };
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
    std::vector<std::int64_t> data(kLong);
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
        const auto out = content(1, 0, i, kShort);
        send(comm, const_view(out), 0, {.tag = i == 1 ? 8 : 7});
      }
      return;
    }
    std::vector<std::int64_t> any(kShort);
    std::vector<std::int64_t> seven(kShort);
    std::vector<std::int64_t> eight(kShort);
    MessageStatus status;
    Work first = receive_async(comm, view(any), kAnySource, {.tag = 7}, &status);
    Work second = receive_async(comm, view(eight), kAnySource, {.tag = 8});
    Work third = receive_async(comm, view(seven), 1, {.tag = 7});
    third.wait();  // the receive that was posted last is waited for first
    second.wait();
    first.wait();
    EXPECT_EQ(status.sender, 1);
    EXPECT_EQ(any, content(1, 0, 0, kShort));
    EXPECT_EQ(eight, content(1, 0, 1, kShort));
    EXPECT_EQ(seven, content(1, 0, 2, kShort));
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
          data[i].resize(kLong / 10);
          works.push_back(i == any ? receive_async(comm, view(data[i]), source, {.tag = tag})
                                   : receive_async(comm, view(data[i]), 1, {.tag = 7}));
        }
        barrier(comm);
        for (std::size_t i = 0; comm.rank() == 1 && i < kMany; ++i) {
          data[i] = content(1, 0, static_cast<int>(i), kLong / 10);
          works.push_back(send_async(comm, const_view(data[i]), 0, {.tag = 7}));
        }
        for (Work& work : works) work.wait();
        for (std::size_t i = 0; i < kMany; ++i) {
          ASSERT_EQ(data[i], content(1, 0, static_cast<int>(i), kLong / 10)) << any << " " << i;
        }
      }
    }
  });
}

TEST_P(Messages, CollectivesCompleteBesideMessages) {
  run(3, [](Communicator& comm) {
    const int next = (comm.rank() + 1) % 3;
    const int previous = (comm.rank() + 2) % 3;
    const auto out = content(comm.rank(), next, 0, kLong);
    std::vector<std::int64_t> in(kLong);
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
    EXPECT_EQ(in, content(previous, comm.rank(), 0, kLong));
  });
}

TEST_P(Messages, OfGroupsStaySeparate) {
  run(4, [](Communicator& comm) {
    Communicator group = comm.split(comm.rank() % 2);
    const int peer = 1 - group.rank();
    for (const std::size_t count : {kShort, kLong}) {
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
    const auto out = content(comm.rank(), 1, 0, kLong);
    std::vector<std::int64_t> in(kLong);
    Work work =
        comm.rank() == 0 ? send_async(comm, const_view(out), 1) : receive_async(comm, view(in), 0);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!work.done() && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(work.done());
    EXPECT_TRUE(work.wait_for(std::chrono::milliseconds(0)));
    EXPECT_EQ(in, comm.rank() == 1 ? content(0, 1, 0, kLong) : in);
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
      std::vector<std::int64_t> in(kShort);
      for (int i = 0; i < kEach; ++i) {
        const auto out = content(comm.rank(), thread, i, kShort);
        Work sent = send_async(comm, const_view(out), peer, {.tag = thread});
        receive(comm, view(in), peer, {.tag = thread});
        sent.wait();
        ASSERT_EQ(in, content(peer, thread, i, kShort));
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
  for (const std::size_t count : {std::size_t{0}, kShort, kLong}) {
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

// A graph of messages between up to 4 ranks that all ranks compute from the same seed. The receives
// are posted in another order than the sends, some from any rank. Each rank starts all of them and
// then waits in a third order, so it completes only if each message waits only for its own receive.
struct Edge {
  int from = 0;
  int to = 0;
  int tag = 0;
  std::size_t count = 0;
  int what = 0;
};

std::vector<Edge> random_messages(std::mt19937& random, int ranks) {
  std::vector<Edge> edges;
  for (int what = 0; what < 60; ++what) {
    const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
    const std::size_t lengths[] = {0, 1, kShort, 1024, 1025, 3000, kLong / 10};
    edges.push_back({.from = below(static_cast<unsigned>(ranks)),
                     .to = below(static_cast<unsigned>(ranks)),
                     .tag = below(4),
                     .count = lengths[random() % std::size(lengths)],
                     .what = what});
  }
  return edges;
}

// Messages with tag 3 are received from any rank, in the order of their arrival.
struct RandomReceive {
  std::vector<std::int64_t> data = std::vector<std::int64_t>(kLong / 10);
  const Edge* edge = nullptr;  // null: a message with tag 3
  MessageStatus status;
  Work work;
};
using RandomReceives = std::vector<std::unique_ptr<RandomReceive>>;
using SentMessages = std::map<std::pair<int, int>, std::vector<const Edge*>>;  // by sender and tag

// `receives` are in the order in which they were posted.
void expect_received(const RandomReceives& receives, SentMessages& sent) {
  std::map<int, std::size_t> any_taken;
  for (const auto& receive : receives) {
    const Edge* edge = receive->edge;
    if (edge == nullptr) {
      const int from = receive->status.sender;
      edge = sent[{from, 3}].at(any_taken[from]++);
    }
    ASSERT_EQ(receive->status.count, edge->count);
    ASSERT_EQ(receive->status.sender, edge->from);
    ASSERT_EQ(receive->status.tag, edge->tag);
    receive->data.resize(edge->count);
    ASSERT_EQ(receive->data, content(edge->from, edge->to, edge->what, edge->count));
  }
}

void exchange_at_random(Communicator& comm, unsigned seed) {
  std::mt19937 random(seed);
  const auto edges = random_messages(random, comm.size());
  std::mt19937 own(seed * 64 + static_cast<unsigned>(comm.rank()));
  RandomReceives receives;
  SentMessages sent;  // to this rank
  std::vector<const Edge*> outgoing;
  for (const Edge& edge : edges) {
    if (edge.from == comm.rank()) outgoing.push_back(&edge);
    if (edge.to != comm.rank()) continue;
    sent[{edge.from, edge.tag}].push_back(&edge);
    receives.push_back(std::make_unique<RandomReceive>());
    if (edge.tag != 3) receives.back()->edge = &edge;
  }
  // Messages of one sender and tag keep their order, so the shuffle must keep the order of their
  // receives.
  std::ranges::shuffle(receives, own);
  std::map<std::pair<int, int>, std::size_t> taken;
  for (auto& receive : receives) {
    if (receive->edge == nullptr) continue;
    const std::pair key{receive->edge->from, receive->edge->tag};
    receive->edge = sent[key][taken[key]++];
  }
  std::vector<std::vector<std::int64_t>> data;
  std::vector<Work> sends;
  std::size_t started = 0;
  const auto start_receive = [&] {
    RandomReceive& receive = *receives[started++];
    const Edge* edge = receive.edge;
    const bool at_most = edge == nullptr || edge->what % 3 == 0;
    if (!at_most) receive.data.resize(edge->count);
    const int source = edge == nullptr ? kAnySource : edge->from;
    receive.work = receive_async(comm, view(receive.data), source,
                                 {.tag = edge == nullptr ? 3 : edge->tag, .at_most = at_most},
                                 &receive.status);
  };
  for (const Edge* edge : outgoing) {
    while (started < receives.size() && own() % 2 == 0) start_receive();
    data.push_back(content(edge->from, edge->to, edge->what, edge->count));
    sends.push_back(send_async(comm, const_view(data.back()), edge->to, {.tag = edge->tag}));
  }
  while (started < receives.size()) start_receive();
  std::vector<RandomReceive*> order;
  for (auto& receive : receives) order.push_back(receive.get());
  std::ranges::shuffle(order, own);
  for (RandomReceive* receive : order) receive->work.wait();
  for (Work& work : sends) work.wait();
  expect_received(receives, sent);
}

TEST_P(Messages, AtRandom) {
  for (const int ranks : {1, 2, 3, 4}) {
    if (ranks == 1 && GetParam().local_sizes.size() > 1) continue;
    run(ranks, [](Communicator& comm) {
      for (unsigned seed = 1; seed <= 4; ++seed) {
        exchange_at_random(comm, seed);
        barrier(comm);  // else a receive from any rank could take a message of the next round
      }
    });
  }
}

}  // namespace
}  // namespace bp::test
