// Graphs of messages between up to 4 ranks, each from a seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "bp/collective.h"
#include "tests/ranks/messages.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

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
    const std::size_t lengths[] = {0, 1, kShortContent, 1024, 1025, 3000, kLongContent / 10};
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
  std::vector<std::int64_t> data = std::vector<std::int64_t>(kLongContent / 10);
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
