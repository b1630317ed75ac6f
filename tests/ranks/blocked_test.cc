// Ranks that wait for each other in different communicators, and ranks that only seem to.
#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bp/collective.h"
#include "bp/store.h"
#include "trouble_fixture.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

class Blocked : public Trouble {
 protected:
  // All ranks must get the same error soon.
  void expect_circle(int ranks,
                     const Body& body,
                     const std::string& one,
                     const std::string& other) {
    const auto texts = errors(ranks, body);
    EXPECT_THAT(texts, Each(AllOf(StartsWith("mismatch: ranks wait for each other in different "
                                             "communicators: rank 0 in collective "),
                                  HasSubstr(one), HasSubstr(other))));
    EXPECT_THAT(texts, Each(texts.front()));
    EXPECT_LT(took_, kSoon);
  }
  static void sum(Communicator& comm, const std::string& name) {
    std::vector<float> data(10, 1);
    all_reduce(comm, view(data), {.name = name});
    EXPECT_EQ(data[9], static_cast<float>(comm.size()));
  }
};

INSTANTIATE_TEST_SUITE_P(
    Wires, Blocked, testing::Values(Wire::inproc, Wire::gloo, Wire::shm), [](const auto& param) {
      return param.param == Wire::inproc ? "inproc" : param.param == Wire::gloo ? "gloo" : "shm";
    });

// docs/acceptance.md, Disagreement and misuse: Ranks that wait for each other in two communicators
// are named.
TEST_P(Blocked, InAWorldAndInAGroup) {
  const auto body = [](Communicator& comm) {
    Communicator group = comm.split(0);
    Communicator& first = comm.rank() == 0 ? comm : group;
    Communicator& second = comm.rank() == 0 ? group : comm;
    sum(first, "first");
    sum(second, "second");
  };
  expect_circle(2, body,
                "rank 0 in collective 1 of world, all_reduce sum of 10 f32 'first', which rank 1 "
                "has not begun",
                "rank 1 in collective 0 of world.1.0, all_reduce sum of 10 f32 'first', which rank "
                "0 has not begun (every rank must ask for the collectives of all its communicators "
                "in one order)");
  expect_circle(4, body, "of world, ", "of world.1.0, ");
}

// The progress thread waits, and the program's thread for it: in wait(), or in the next collective.
TEST_P(Blocked, InOperationsThatWereStarted) {
  for (const bool waits : {true, false}) {
    expect_circle(
        3,
        [waits](Communicator& comm) {
          Communicator group = comm.split(0);
          std::vector<float> data(10);
          Communicator& first = comm.rank() == 0 ? group : comm;
          Communicator& second = comm.rank() == 0 ? comm : group;
          Work work = all_reduce_async(first, view(data));
          if (waits) work.wait();
          barrier(first);
          sum(second, "second");
        },
        "rank 0 in collective 0 of world.1.0, all_reduce", "in collective 1 of world, all_reduce");
  }
}

// Here no rank begins with another collective, although each waits in the other communicator.
TEST_P(Blocked, NotByOperationsThatWereStarted) {
  const auto texts = errors(2, [](Communicator& comm) {
    Communicator group = comm.split(0);
    std::vector<float> data(10, 1);
    std::vector<float> more(10, 1);
    Communicator& first = comm.rank() == 0 ? comm : group;
    Communicator& second = comm.rank() == 0 ? group : comm;
    for (int i = 0; i < 3; ++i) {
      if (comm.rank() == i % 2) std::this_thread::sleep_for(300ms);
      Work one = all_reduce_async(first, view(data));
      if (comm.rank() == 1) std::this_thread::sleep_for(300ms);
      Work other = all_reduce_async(second, view(more));
      one.wait();
      other.wait();
    }
    group.finish();
  });
  EXPECT_THAT(texts, Each(""));
}

// The root of a broadcast waits for no rank, and a rank that is not the root only for the root.
TEST_P(Blocked, WithARoot) {
  expect_circle(
      3,
      [](Communicator& comm) {
        Communicator group = comm.split(0);
        std::vector<float> data(20'000);
        if (comm.rank() == 1) broadcast(group, view(data), {.root = 0});
        broadcast(comm, view(data), {.root = 1});
        if (comm.rank() != 1) broadcast(group, view(data), {.root = 0});
        barrier(comm);
      },
      "rank 0 in collective 1 of world, broadcast of 20000 f32 from rank 1",
      "rank 1 in collective 0 of world.1.0, broadcast of 20000 f32 from rank 0");
}

// Each two ranks have a group, and each rank begins with that of the next one.
// docs/acceptance.md, Disagreement and misuse: Ranks that wait for each other in three groups are
// named.
TEST_P(Blocked, InThreeGroups) {
  expect_circle(
      3,
      [](Communicator& comm) {
        std::vector<Communicator> with_next;  // group r is of the ranks r and r + 1
        for (int r = 0; r < 3; ++r) {
          const bool is_in = comm.rank() == r || comm.rank() == (r + 1) % 3;
          with_next.push_back(comm.split(is_in ? 0 : 1));
        }
        sum(with_next[static_cast<std::size_t>(comm.rank())], "next");
        sum(with_next[static_cast<std::size_t>((comm.rank() + 2) % 3)], "before");
      },
      "rank 0 in collective 0 of world.1.0", "rank 2 in collective 0 of world.3.0");
}

// docs/acceptance.md, Disagreement and misuse: A rank that is only late does not count as a circle
// of waiting ranks.
TEST_P(Blocked, NotByALateRank) {
  const auto texts = errors(4, [](Communicator& comm) {
    Communicator group = comm.split(comm.rank() % 2);
    for (int late = 0; late < 4; ++late) {
      if (comm.rank() == late) std::this_thread::sleep_for(300ms);
      sum(group, "of a group");
      if (comm.rank() == 3 - late) std::this_thread::sleep_for(300ms);
      sum(comm, "of the world");
    }
    group.finish();
  });
  EXPECT_THAT(texts, Each(""));
}

// One thread of each rank uses the world, and another one the group. Each is late on one rank.
TEST_P(Blocked, NotByThreadsThatUseOneCommunicatorEach) {
  const auto texts = errors(2, [](Communicator& comm) {
    Communicator group = comm.split(0);
    std::thread other([&] {
      for (int i = 0; i < 3; ++i) {
        if (comm.rank() == 0) std::this_thread::sleep_for(300ms);
        sum(group, "of the other thread");
      }
    });
    for (int i = 0; i < 3; ++i) {
      if (comm.rank() == 1) std::this_thread::sleep_for(300ms);
      sum(comm, "of the main thread");
    }
    other.join();
    group.finish();
  });
  EXPECT_THAT(texts, Each(""));
}

// A message and a collective are not compared, and a thread that asks again and again may still
// begin something else. So these end at their timeout, with the cause.
// docs/acceptance.md, Disagreement and misuse: A circle through a message, or of threads that only
// ask, is named at the timeout.
TEST_P(Blocked, BehindAMessageIsNamedAtTheTimeout) {
  options_.communicator.timeout = 1500ms;
  const auto texts = errors(2, [](Communicator& comm) {
    Communicator group = comm.split(0);
    std::vector<float> data(10);
    if (comm.rank() == 0) receive(group, view(data), 1);
    sum(comm, "all");
    if (comm.rank() == 1) send(group, view(data), 0);
  });
  EXPECT_THAT(
      texts,
      Contains(AnyOf(HasSubstr("(world rank 1) is in collective 1 of world: all_reduce sum of 10 "
                               "f32 'all' (if it is not only slow, ranks wait for each other: "),
                     HasSubstr("; rank 0 is in message of 10 f32 from rank 1 to rank 0 of "
                               "world.1.0 (if it is not only slow, ranks wait for each other: "))));
}

TEST_P(Blocked, ByThreadsThatOnlyAskIsNamedAtTheTimeout) {
  options_.communicator.timeout = 1500ms;
  const auto texts = errors(2, [](Communicator& comm) {
    Communicator group = comm.split(0);
    std::vector<float> data(10);
    Communicator& first = comm.rank() == 0 ? comm : group;
    Communicator& second = comm.rank() == 0 ? group : comm;
    Work work = all_reduce_async(first, view(data));
    while (comm.rank() == 0 ? !work.done() : !work.wait_for(10ms)) std::this_thread::sleep_for(1ms);
    work.wait();
    sum(second, "second");
  });
  EXPECT_THAT(texts, Contains(AllOf(StartsWith("timeout: "),
                                    ContainsRegex(" is in collective [01] of "
                                                  "world(\\.1\\.0)?: all_reduce sum of 10 f32 "
                                                  "\\(if it is not only slow, "))));
}

// No key of the comparison may be left, nor of a group that all ranks have finished.
TEST_P(Blocked, NotesAreDeleted) {
  const auto texts = errors(3, [](Communicator& comm) {
    Communicator group = comm.split(0);
    if (comm.rank() == 2) std::this_thread::sleep_for(300ms);
    sum(group, "late");
    if (comm.rank() == 1) std::this_thread::sleep_for(300ms);
    sum(comm, "late");
    group.finish();
    barrier(comm);
    std::this_thread::sleep_for(50ms);
    for (const char* const key :
         {"comm/blocked/0.", "comm/world.1.0/asked/0/ranks.", "comm/world.1.0/asked/1/ranks.",
          "comm/world.1.0/waits/0.", "comm/world/asked/1/ranks."}) {
      EXPECT_EQ(comm.store()->find(key), std::nullopt) << key;
    }
    barrier(comm);
  });
  EXPECT_THAT(texts, Each(""));
}

}  // namespace
}  // namespace bp::test
