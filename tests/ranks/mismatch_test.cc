// Ranks that ask for different things. All of them must get the same error, which names what each
// asked for.
#include <gmock/gmock.h>

#include <cstdint>

#include "bp/collective.h"
#include "trouble_fixture.h"

namespace bp::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

// Runs `odd` on rank 2 of 3 and `most` on the others. All ranks must get the same error soon.
class Mismatch : public Trouble {
 protected:
  // With shared memory, ranks 1 and 2 have it on a host of their own.
  void SetUp() override {
    Trouble::SetUp();
    if (GetParam() == Wire::shm) options_.local_sizes = {1, 2};
  }
  void expect_same_mismatch(const Body& most, const Body& odd, const std::string& text) {
    const auto texts = errors(3, [&](Communicator& comm) {
      barrier(comm);  // the collective before succeeds
      comm.rank() == 2 ? odd(comm) : most(comm);
    });
    EXPECT_THAT(texts, Each(StartsWith("mismatch: ranks disagree on collective 1 of world: ")));
    EXPECT_THAT(texts, Each(texts.front()));
    EXPECT_THAT(texts.front(), HasSubstr(text));
    EXPECT_LT(took_, kSoon);
  }
  template <class T>
  static void reduce(Communicator& comm, std::size_t count, const CollectiveOptions& with = {}) {
    std::vector<T> data(count);
    all_reduce(comm, view(data), with);
  }
  template <class T>
  static void cast(Communicator& comm, std::size_t count, const CollectiveOptions& with = {}) {
    std::vector<T> data(count);
    broadcast(comm, view(data), with);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Wires, Mismatch, testing::Values(Wire::inproc, Wire::gloo, Wire::shm), [](const auto& param) {
      return param.param == Wire::inproc ? "inproc" : param.param == Wire::gloo ? "gloo" : "hosts";
    });

// docs/acceptance.md, Disagreement and misuse: Ranks that pass different counts get an error that
// names both.
TEST_P(Mismatch, OfCounts) {
  expect_same_mismatch([](Communicator& comm) { reduce<float>(comm, 1000); },
                       [](Communicator& comm) { reduce<float>(comm, 900); },
                       "ranks 0, 1 asked for all_reduce sum of 1000 f32; rank 2 for all_reduce sum "
                       "of 900 f32 (every rank must ask for the same");
}

// docs/acceptance.md, Disagreement and misuse: reduce_scatter with other counts on one rank is an
// error.
TEST_P(Mismatch, OfTheCountsOfAReduceScatter) {
  const auto scatter = [](Communicator& comm, const std::vector<std::size_t>& counts) {
    const std::vector<float> input(9);
    std::vector<float> part(counts[static_cast<std::size_t>(comm.rank())]);
    reduce_scatter_v(comm, const_view(input), view(part), counts);
  };
  expect_same_mismatch(
      [&](Communicator& comm) {
        scatter(comm, {3, 3, 3});
      },
      [&](Communicator& comm) {
        scatter(comm, {3, 4, 2});
      },
      "ranks 0, 1 asked for reduce_scatter sum of 9 f32; rank 2 for "
      "reduce_scatter sum of 9 f32 cut 3+4+2 (every rank must ask for the same");
}

TEST_P(Mismatch, OfLongCounts) {
  expect_same_mismatch([](Communicator& comm) { reduce<float>(comm, 50'000); },
                       [](Communicator& comm) { reduce<float>(comm, 60'000); },
                       "of 50000 f32; rank 2 for");
}

// docs/acceptance.md, Disagreement and misuse: One rank that passes nothing while others pass
// something is an error on all.
TEST_P(Mismatch, OfNothingAndSomething) {
  expect_same_mismatch([](Communicator& comm) { reduce<float>(comm, 0); },
                       [](Communicator& comm) { reduce<float>(comm, 1); }, "of 0 f32; rank 2 for");
}

// docs/acceptance.md, Disagreement and misuse: Different types of the same size are an error.
TEST_P(Mismatch, OfTypesOfOneSize) {
  expect_same_mismatch([](Communicator& comm) { reduce<float>(comm, 10); },
                       [](Communicator& comm) { reduce<std::int32_t>(comm, 10); },
                       "sum of 10 f32; rank 2 for all_reduce sum of 10 i32");
}

TEST_P(Mismatch, OfReductions) {
  expect_same_mismatch([](Communicator& comm) { reduce<float>(comm, 10); },
                       [](Communicator& comm) { reduce<float>(comm, 10, {.op = ReduceOp::max}); },
                       "all_reduce sum of 10 f32; rank 2 for all_reduce max of 10 f32");
}

TEST_P(Mismatch, OfScales) {
  expect_same_mismatch([](Communicator& comm) { reduce<float>(comm, 10, {.postscale = 2}); },
                       [](Communicator& comm) { reduce<float>(comm, 10, {.postscale = 4}); },
                       "all_reduce sum of 10 f32 scaled by 1 before and 2 after; rank 2 for "
                       "all_reduce sum of 10 f32 scaled by 1 before and 4 after");
  expect_same_mismatch([](Communicator& comm) { reduce<float>(comm, 10, {.prescale = 2}); },
                       [](Communicator& comm) { reduce<float>(comm, 10, {.prescale = 4}); },
                       "all_reduce sum of 10 f32 scaled by 2 before and 1 after; rank 2 for "
                       "all_reduce sum of 10 f32 scaled by 4 before and 1 after");
}

// One tensor of several has another type with the same number of bytes, or another count while the
// group's bytes are the same.
TEST_P(Mismatch, OfGroupedTensors) {
  const auto sum = [](Communicator& comm, const std::vector<std::size_t>& counts, DataType last) {
    std::vector<float> first(counts[0]);
    std::vector<std::int32_t> second(counts[1]);
    const std::vector<View> tensors = {
        view(first), {reinterpret_cast<std::byte*>(second.data()), second.size(), last}};
    all_reduce_grouped(comm, tensors);
  };
  expect_same_mismatch(
      [&](Communicator& comm) {
        sum(comm, {10, 2}, DataType::i32);
      },
      [&](Communicator& comm) {
        sum(comm, {10, 2}, DataType::f32);
      },
      "all_reduce_grouped sum of 10 f32 + 2 i32; rank 2 for all_reduce_grouped sum of 10 f32 + 2 "
      "f32");
  expect_same_mismatch(
      [&](Communicator& comm) {
        sum(comm, {10, 2}, DataType::f32);
      },
      [&](Communicator& comm) {
        sum(comm, {9, 3}, DataType::f32);
      },
      "all_reduce_grouped sum of 10 f32 + 2 f32; rank 2 for all_reduce_grouped sum of 9 f32 + 3 "
      "f32");
}

// docs/acceptance.md, Disagreement and misuse: Different names for one operation are an error.
TEST_P(Mismatch, OfNames) {
  expect_same_mismatch([](Communicator& comm) { reduce<float>(comm, 10, {.name = "a"}); },
                       [](Communicator& comm) { reduce<float>(comm, 10, {.name = "b"}); },
                       "f32 'a'; rank 2 for all_reduce sum of 10 f32 'b'");
}

// docs/acceptance.md, Disagreement and misuse: One rank that calls another operation is an error on
// all.
TEST_P(Mismatch, OfOperations) {
  expect_same_mismatch([](Communicator& comm) { cast<float>(comm, 10); },
                       [](Communicator& comm) { reduce<float>(comm, 10); },
                       "broadcast of 10 f32 from rank 0; rank 2 for all_reduce");
}

// docs/acceptance.md, Disagreement and misuse: Named operations in another order on one rank are an
// error.
TEST_P(Mismatch, OfOrder) {
  expect_same_mismatch(
      [](Communicator& comm) {
        reduce<float>(comm, 10, {.name = "first"});
        reduce<float>(comm, 10, {.name = "second"});
      },
      [](Communicator& comm) {
        reduce<float>(comm, 10, {.name = "second"});
        reduce<float>(comm, 10, {.name = "first"});
      },
      "'first'; rank 2 for all_reduce sum of 10 f32 'second'");
}

// docs/acceptance.md, Disagreement and misuse: Another root on one rank is an error on all.
TEST_P(Mismatch, OfRoots) {
  expect_same_mismatch([](Communicator& comm) { cast<float>(comm, 10, {.root = 1}); },
                       [](Communicator& comm) { cast<float>(comm, 10, {.root = 2}); },
                       "from rank 1; rank 2 for broadcast of 10 f32 from rank 2");
}

// The root waits for nothing in a broadcast, but must still get the error.
TEST_P(Mismatch, OfABroadcastWithItsRoot) {
  expect_same_mismatch([](Communicator& comm) { cast<float>(comm, 4096); },
                       [](Communicator& comm) { cast<float>(comm, 2048); }, "of 4096 f32");
}

// docs/acceptance.md, Disagreement and misuse: all_gather of parts with other lengths than
// announced is an error.
TEST_P(Mismatch, OfGatheredCounts) {
  expect_same_mismatch(
      [](Communicator& comm) {
        std::vector<int> own(1);
        std::vector<int> all(4);
        const std::vector<std::size_t> counts = {1, 1, 2};
        all_gather_v(comm, const_view(own), view(all), counts);
      },
      [](Communicator& comm) {
        std::vector<int> own(3);
        std::vector<int> all(5);
        const std::vector<std::size_t> counts = {1, 1, 3};
        all_gather_v(comm, const_view(own), view(all), counts);
      },
      "all_gather of 1+1+2 i32; rank 2 for all_gather of 1+1+3 i32");
}

// docs/acceptance.md, Disagreement and misuse: A rank that stops calling while the others continue
// is an error on all.
TEST_P(Mismatch, OfNumbersOfCollectives) {
  options_.local_sizes = {};
  const auto texts = errors(2, [](Communicator& comm) {
    barrier(comm);
    if (comm.rank() == 0) barrier(comm, {.name = "one more"});
  });
  EXPECT_THAT(texts[0], HasSubstr("rank 0 asked for barrier 'one more'; rank 1 for nothing more"));
  EXPECT_LT(took_, kSoon);
}

}  // namespace
}  // namespace bp::test
