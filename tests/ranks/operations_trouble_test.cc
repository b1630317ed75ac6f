// The errors that ranks get if the rooted operations, the exchanges and the messages go wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <latch>
#include <limits>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "bp/log.h"
#include "bp/store.h"
#include "comm/engine/api/impl.h"
#include "comm/engine/observe/header.h"
#include "comm/shared/phase_barrier.h"
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

// docs/acceptance.md, Disagreement and misuse: What one rank can see alone is refused before
// anything is sent, and the communicator stays usable: a root that is not a rank, counts that do
// not add up, parts of the wrong length.
TEST(OperationArguments, AreCheckedBeforeAnythingIsSent) {
  run_ranks(2, [](Communicator& comm) {
    std::vector<float> two(2);
    std::vector<float> four(4);
    std::vector<float> one(1);
    std::vector<std::int32_t> integers(2);
    const std::vector<std::size_t> counts = {1, 2};
    const std::vector<std::size_t> three_counts = {1, 1, 1};
    EXPECT_EQ(refusal_of([&] { reduce(comm, view(two), {.root = 2, .name = "w"}); }),
              "reduce 'w': root is 2; the ranks are 0 to 1");
    EXPECT_EQ(refusal_of([&] { gather(comm, const_view(one), view(two), {.root = -1}); }),
              "gather: root is -1; the ranks are 0 to 1");
    EXPECT_EQ(refusal_of([&] { scatter(comm, const_view(two), view(one), {.root = 7}); }),
              "scatter: root is 7; the ranks are 0 to 1");
    EXPECT_EQ(refusal_of([&] { gather(comm, const_view(two), view(two), {.root = comm.rank()}); }),
              "gather: output has 2 elements; it must have 4");
    EXPECT_EQ(
        refusal_of([&] { scatter(comm, const_view(four), view(one), {.root = comm.rank()}); }),
        "scatter: input has 4 elements; it must have 2");
    EXPECT_EQ(refusal_of([&] {
                scatter(comm, const_view(two), view(std::span(two).first(1)),
                        {.root = comm.rank()});
              }),
              "scatter: input and output overlap");
    EXPECT_EQ(refusal_of([&] { gather_v(comm, const_view(four), view(two), counts); }),
              comm.rank() == 0 ? "gather_v: input has 4 elements; it must have 1"
                               : "gather_v: input has 4 elements; it must have 2");
    EXPECT_EQ(refusal_of([&] { scatter_v(comm, {}, view(one), three_counts); }),
              "scatter_v: counts has 3 elements; it must have 2");
    EXPECT_EQ(refusal_of([&] { all_to_all(comm, const_view(one), view(two)); }),
              "all_to_all: input has 1 elements, which 2 ranks cannot share evenly (all_to_all_v "
              "can)");
    EXPECT_EQ(refusal_of([&] { all_to_all(comm, const_view(two), view(four)); }),
              "all_to_all: output has 4 elements; it must have 2");
    EXPECT_EQ(refusal_of([&] { all_to_all(comm, const_view(two), view(integers)); }),
              "all_to_all: input is f32 and output is i32; they must be of one type");
    EXPECT_EQ(refusal_of([&] {
                all_to_all_v(comm, const_view(two), view(four),
                             {.send = counts, .receive = counts});
              }),
              "all_to_all_v: input has 2 elements; it must have 3");
    EXPECT_EQ(refusal_of([&] {
                all_to_all_v(comm, const_view(two), view(four),
                             {.send = three_counts, .receive = counts});
              }),
              "all_to_all_v: counts.send has 3 elements; it must have 2");
    EXPECT_EQ(refusal_of([&] { send(comm, const_view(two), 2); }),
              "send: receiver is 2; the ranks are 0 to 1");
    EXPECT_EQ(refusal_of([&] {
                send(comm, {nullptr, 3, DataType::f32}, 1 - comm.rank());
              }),
              "send: data has 3 elements at no address");
    barrier(comm);  // the communicator is still usable
  });
}

class OperationTrouble : public Trouble {
 protected:
  // Runs `odd` on rank 2 of 3 and `most` on the others. All ranks must get the same error soon.
  void expect_same_mismatch(const Body& most, const Body& odd, const std::string& text) {
    const auto texts =
        errors(3, [&](Communicator& comm) { comm.rank() == 2 ? odd(comm) : most(comm); });
    EXPECT_THAT(texts, Each(StartsWith("mismatch: ranks disagree ")));
    EXPECT_THAT(texts, Each(texts.front()));
    EXPECT_THAT(texts.front(), HasSubstr(text));
    EXPECT_LT(took_, kSoon);
  }
};

INSTANTIATE_TEST_SUITE_P(Wires,
                         OperationTrouble,
                         testing::Values(Wire::inproc, Wire::gloo, Wire::shm),
                         [](const auto& param) {
                           return param.param == Wire::inproc ? "inproc"
                                  : param.param == Wire::gloo ? "gloo"
                                                              : "shm";
                         });

void sum_to(Communicator& comm, int root) {
  std::vector<float> data(10);
  reduce(comm, view(data), {.root = root});
}
void gather_to(Communicator& comm, int root, std::size_t count) {
  std::vector<float> own(count);
  std::vector<float> all(3 * count);
  gather(comm, const_view(own), view(all), {.root = root});
}

// docs/acceptance.md, Disagreement and misuse: Another root on one rank is an error on all.
TEST_P(OperationTrouble, OtherRoots) {
  expect_same_mismatch([](Communicator& comm) { sum_to(comm, 0); },
                       [](Communicator& comm) { sum_to(comm, 1); },
                       "ranks 0, 1 asked for reduce sum of 10 f32 to rank 0; rank 2 for reduce sum "
                       "of 10 f32 to rank 1");
}

TEST_P(OperationTrouble, OtherCounts) {
  expect_same_mismatch([](Communicator& comm) { gather_to(comm, 1, 4); },
                       [](Communicator& comm) { gather_to(comm, 1, 5); },
                       "gather of 4 f32 to rank 1; rank 2 for gather of 5 f32 to rank 1");
}

TEST_P(OperationTrouble, OtherOperation) {
  expect_same_mismatch(
      [](Communicator& comm) {
        std::vector<std::int64_t> input(6);
        std::vector<std::int64_t> output(6);
        all_to_all(comm, const_view(input), view(output), {.name = "experts"});
      },
      [](Communicator& comm) {
        std::vector<std::int64_t> part(2);
        scatter(comm, {}, view(part), {.name = "experts"});
      },
      "all_to_all of 6 i64 'experts'; rank 2 for scatter of 2 i64 from rank 0 'experts'");
}

// docs/acceptance.md, Disagreement and misuse: all_to_all with counts that another rank does not
// expect is an error on all.
TEST_P(OperationTrouble, CountsOfAnExchangeDisagree) {
  const auto exchange = [](Communicator& comm, std::size_t from_zero) {
    std::vector<std::size_t> send(3, 4);
    std::vector<std::size_t> receive = {from_zero, 4, 4};
    std::vector<float> input(12);
    std::vector<float> output(8 + from_zero);
    all_to_all_v(comm, const_view(input), view(output), {.send = send, .receive = receive},
                 {.name = "tokens"});
  };
  expect_same_mismatch([&](Communicator& comm) { exchange(comm, 4); },
                       [&](Communicator& comm) { exchange(comm, 5); },
                       "ranks disagree in all_to_all_v of f32 'tokens': rank 0 sends 4 elements to "
                       "rank 2, which expects 5");
}

TEST_P(OperationTrouble, LengthsOfAMessageDisagree) {
  const auto texts = errors(3, [](Communicator& comm) {
    std::vector<float> data(comm.rank() == 0 ? 10 : 11);
    if (comm.rank() == 0) send(comm, const_view(data), 1, {.name = "head"});
    if (comm.rank() == 1) receive(comm, view(data), 0, {.name = "head"});
    barrier(comm);
  });
  EXPECT_THAT(texts, Each(HasSubstr("rank 0 asked for message of 10 f32 from rank 0 to rank 1 "
                                    "'head'; rank 1 for message of 11 f32 from rank 0 to rank 1 "
                                    "'head'")));
  EXPECT_LT(took_, kSoon);
}

TEST_P(OperationTrouble, TwoRanksSendToEachOther) {
  const auto texts = errors(2, [](Communicator& comm) {
    const std::vector<float> data(20'000);
    send(comm, const_view(data), 1 - comm.rank());
  });
  EXPECT_THAT(texts, Each("mismatch: two ranks wait for each other: rank 0 in message of 20000 f32 "
                          "from rank 0 to rank 1, rank 1 in message of 20000 f32 from rank 1 to "
                          "rank 0 (send_async and receive_async let a rank do both)"));
  EXPECT_LT(took_, kSoon);
}

TEST_P(OperationTrouble, ReceiveFromARankInACollective) {
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(10);
    if (comm.rank() == 0) receive(comm, view(data), 1);
    barrier(comm, {.name = "epoch"});
  });
  EXPECT_THAT(texts, Each("mismatch: two ranks wait for each other: rank 0 in message of 10 f32 "
                          "from rank 1 to rank 0, rank 1 in barrier 'epoch' (every rank must ask "
                          "for the same collectives and messages in the same order)"));
  EXPECT_LT(took_, kSoon);
}

// docs/acceptance.md, Failures: At its deadline a collective ends with an error that names the
// ranks that have not entered it.
TEST_P(OperationTrouble, MissingRanksAreNamed) {
  options_.communicator.timeout = 1s;
  const auto texts = errors(4, [](Communicator& comm) {
    if (comm.rank() % 2 == 0) barrier(comm, {.name = "epoch"});
    std::vector<float> data(10);
    while (!comm.store()->job_failure()) std::this_thread::sleep_for(1ms);
  });
  for (const std::size_t rank : {0, 2}) {
    EXPECT_THAT(texts[rank],
                AllOf(StartsWith("timeout: "),
                      HasSubstr("waited 1000 ms for ranks 1, 3 in barrier 'epoch': not "
                                "seen in this collective by then (slow ranks need a "
                                "longer timeout)")));
  }
}

// docs/acceptance.md, Failures: After 10 s without a byte a warning names the ranks that have not
// entered a collective.
TEST_P(OperationTrouble, MissingRanksAreLoggedBeforeTheDeadline) {
  options_.stall_after = 20ms;
  std::mutex mutex;
  std::vector<std::string> lines;
  std::latch warned(1);
  set_log_sink([&](LogLevel level, std::string_view text) {
    const std::lock_guard lock(mutex);
    if (level != LogLevel::warn) return;
    lines.emplace_back(text);
    if (lines.size() == 1) warned.count_down();
  });
  const auto texts = errors(3, [&](Communicator& comm) {
    if (comm.rank() == 1) warned.wait();
    barrier(comm, {.name = "epoch"});
  });
  set_log_sink({});
  EXPECT_THAT(texts, Each(""));
  EXPECT_THAT(lines,
              testing::Contains(testing::MatchesRegex(
                  "rank [02] has waited [0-9]+ s in barrier 'epoch' for (ranks 1, 2|ranks 0, "
                  "1|rank 1), not seen in it yet")));
}

// Runs each new operation again and again while one rank throws.
TEST_P(OperationTrouble, DeadRankIsNamedByAllRanks) {
  const std::vector<Body> bodies = {
      [](Communicator& comm) { sum_to(comm, 0); },
      [](Communicator& comm) { gather_to(comm, 0, 100); },
      [](Communicator& comm) {
        std::vector<float> part(100);
        const std::vector<float> all(300);
        scatter(comm, const_view(all), view(part));
      },
      [](Communicator& comm) {
        const std::vector<float> input(300);
        std::vector<float> output(300);
        all_to_all(comm, const_view(input), view(output));
      },
      [](Communicator& comm) {
        std::vector<float> data(100);
        if (comm.rank() == 0) receive(comm, view(data), 1);
        if (comm.rank() == 1) send(comm, const_view(data), 0);
        barrier(comm);
      },
  };
  for (const Body& body : bodies) {
    const auto texts = errors(3, [&](Communicator& comm) {
      body(comm);
      if (comm.rank() == 1) throw std::runtime_error("of its own doing");
      for (;;) body(comm);
    });
    EXPECT_EQ(texts[1], "of its own doing");
    for (const std::size_t rank : {0, 2}) {
      EXPECT_THAT(texts[rank], AllOf(AnyOf(StartsWith("peer_lost: "), StartsWith("aborted: ")),
                                     HasSubstr("rank 1")));
    }
    EXPECT_LT(took_, kSoon);
  }
}

// What a rank of another version of bp could send: rank 1 does by hand what rank 0 asks of bp.
class BrokenRecords : public testing::Test {
 protected:
  // Returns the error of rank 0.
  std::string error_of_rank_0(const Body& asks, const Body& by_hand) {
    return try_ranks(
        2, [&](Communicator& comm) { comm.rank() == 0 ? asks(comm) : by_hand(comm); }, options_)[0];
  }
  RanksOptions options_;
};

TEST_F(BrokenRecords, LengthsOfObjectsAreChecked) {
  const std::string hint =
      " bytes, which cannot be (do all ranks run the same version of bp and "
      "of the program?)";
  for (const std::int64_t length : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(error_of_rank_0([](Communicator& comm) { (void)all_gather_object(comm, "mine"); },
                              [&](Communicator& comm) {
                                std::vector<std::int64_t> all(2);
                                all_gather(comm, const_view(std::span(&length, 1)), view(all));
                              }),
              concat("io: all_gather_object: rank 1 announced an object of ", length, hint));
  }
  EXPECT_EQ(error_of_rank_0(
                [](Communicator& comm) {
                  std::string object;
                  broadcast_object(comm, object, {.root = 1});
                },
                [](Communicator& comm) {
                  std::vector<std::int64_t> length = {-7};
                  broadcast(comm, view(length), {.root = 1});
                }),
            concat("io: broadcast_object: rank 1 announced an object of -7", hint));
}

TEST_F(BrokenRecords, CountsOfAnExchangeAreChecked) {
  const auto exchange = [](std::uint64_t to_itself) {
    return [to_itself](Communicator& comm) {
      std::vector<std::int32_t> data(4);
      Operation operation;
      operation.kind = Operation::Kind::all_to_all_v;
      operation.input = view(data);
      operation.output = view(data);
      operation.counts = {1, 1};
      operation.counts[static_cast<std::size_t>(comm.rank())] = to_itself;
      operation.receive_counts = operation.counts;
      comm.impl().engine().run(operation);
    };
  };
  for (const Wire wire : {Wire::inproc, Wire::shm}) {
    options_.wire = wire;
    EXPECT_EQ(error_of_rank_0(exchange(1), exchange(std::uint64_t{1} << 63)),
              "mismatch: in all_to_all_v of i32 rank 1 sends -9223372036854775808 elements to rank "
              "1, which cannot be (do all ranks run the same version of bp?)");
  }
}

TEST_F(BrokenRecords, PlacesOfCommunicatorsInSharedMemoryAreChecked) {
  options_.wire = Wire::shm;
  for (const std::int64_t place : {std::int64_t{1} << 60, std::int64_t{1'000'001}}) {
    EXPECT_EQ(error_of_rank_0([](Communicator& comm) { (void)comm.split(0); },
                              [&](Communicator& comm) {
                                const std::vector<std::int64_t> own = {0, place};
                                std::vector<std::int64_t> all(4);
                                all_gather(comm, const_view(own), view(all), {.name = "split"});
                              }),
              concat("io: rank 1 of the world announced byte ", place,
                     " of its shared memory as the place of a communicator, which cannot lie there "
                     "(do all ranks run the same version of bp?)"));
  }
}

TEST_F(BrokenRecords, PlacesOfVectorsInSharedMemoryAreChecked) {
  options_.wire = Wire::shm;
  std::string error;
  std::binary_semaphore is_over(0);
  (void)error_of_rank_0(
      [&](Communicator& comm) {
        std::vector<float> data(100);
        error = test::error_of([&] { broadcast(comm, view(data), {.root = 1}); });
        is_over.release();
      },
      [&](Communicator& comm) {
        std::vector<float> data(100);
        Operation operation;
        operation.kind = Operation::Kind::broadcast;
        operation.root = 1;
        operation.output = view(data);
        const Header header{"world", 0, &operation, "auto"};
        PhaseBarrier barrier(comm.impl().job()->shared(), {{0, 0}, {1, 0}}, 1);
        barrier.arrive({.header = header.slot(), .offset = std::uint64_t{1} << 60});
        is_over.acquire();
      });
  EXPECT_THAT(error,
              AllOf(StartsWith("io: rank 0 lost rank 1 "),
                    HasSubstr("it announced a vector at byte 1152921504606846976 of its shared "
                              "memory, which does not have 400 bytes there (do all ranks run the "
                              "same version of bp?)")));
}

}  // namespace
}  // namespace bp::test
