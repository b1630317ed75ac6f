// Every algorithm of all_reduce when a rank is in trouble. The errors must not depend on the
// algorithm. Hosts have different sizes, with and without shared memory inside them.
// docs/acceptance.md, Failures: A rank that is late is not a failure, by any algorithm.
#include <gmock/gmock.h>

#include <cstdint>
#include <latch>
#include <tuple>

#include "bp/collective.h"
#include "trouble_fixture.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kRanks = 5;

struct Way {
  std::string algorithm;
  Wire wire = Wire::inproc;
};

class EveryAlgorithm : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    options_.wire = GetParam().wire;
    options_.communicator.algorithm = GetParam().algorithm;
    options_.local_sizes = {3, 2};
  }
  std::vector<std::string> errors(const Body& body) { return try_ranks(kRanks, body, options_); }

  static void reduce(Communicator& comm, std::size_t count) {
    std::vector<std::int32_t> data(count, comm.rank());
    all_reduce(comm, view(data), {.name = "it"});
    EXPECT_THAT(data, Each(kRanks * (kRanks - 1) / 2));
  }

  RanksOptions options_;
};

TEST(GlooNative, RefusesUnsupportedOperations) {
  RanksOptions options{.wire = Wire::gloo};
  options.communicator.backend = "gloo-native";
  std::vector<std::string> texts = try_ranks(
      2,
      [](Communicator& comm) {
        const std::vector<std::int32_t> input(4);
        std::vector<std::int32_t> output(2);
        reduce_scatter(comm, const_view(input), view(output));
      },
      options);
  EXPECT_THAT(texts, testing::Contains(HasSubstr("gloo-native has reduce_scatter for sums of f32 "
                                                 "only; use the backend gloo")));
  texts = try_ranks(
      2,
      [](Communicator& comm) {
        std::vector<float> data(4);
        reduce(comm, view(data), {.root = 0});
      },
      options);
  EXPECT_THAT(texts, testing::Contains(HasSubstr("gloo-native does not carry out reduce: it is "
                                                 "there to compare with Gloo's all_reduce, ")));
}

TEST_P(EveryAlgorithm, WaitsForLateMessages) {
  options_.fault = [](int rank) {
    return Fault{
        .kind = rank % 2 == 0 ? Fault::Kind::delay : Fault::Kind::none, .at = 3, .delay = 200ms};
  };
  EXPECT_THAT(errors([](Communicator& comm) {
                for (const std::size_t count : {1, 1000, 0, 77}) reduce(comm, count);
              }),
              Each(""));
}

TEST_P(EveryAlgorithm, DisagreementIsAMismatchOnAllRanks) {
  for (const int odd : {0, 2, 4}) {
    const auto texts =
        errors([&](Communicator& comm) { reduce(comm, comm.rank() == odd ? 50 : 100); });
    EXPECT_THAT(texts, Each(StartsWith("mismatch: ranks disagree on collective 0 of world: ")));
    EXPECT_THAT(texts, Each(texts.front()));
    EXPECT_THAT(texts.front(), HasSubstr("of 50 i32 'it' by " + GetParam().algorithm));
  }
}

TEST_P(EveryAlgorithm, AbsentRankIsNamed) {
  for (const int absent : {1, 3}) {
    options_.communicator.timeout = 1500ms;
    std::latch over(kRanks - 1);
    const auto texts = errors([&](Communicator& comm) {
      if (comm.rank() == absent) {
        over.wait();
        comm.abort("was silent");
        return;
      }
      try {
        reduce(comm, 100);
      } catch (...) {
        over.count_down();
        throw;
      }
      over.count_down();
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == absent) continue;
      EXPECT_THAT(texts[static_cast<std::size_t>(rank)],
                  AllOf(StartsWith("timeout: "),
                        HasSubstr("waited 1500 ms for rank " + std::to_string(absent) + " "),
                        HasSubstr(" all_reduce sum of 100 i32 'it'")));
    }
  }
}

TEST_P(EveryAlgorithm, LostConnectionIsReportedToAllRanks) {
  // Rank 3 leads the second host, so it sends in every algorithm.
  options_.fault = [](int rank) {
    return Fault{.kind = rank == 3 ? Fault::Kind::fail : Fault::Kind::none, .at = 2};
  };
  const auto texts = errors([](Communicator& comm) {
    for (int i = 0; i < 3; ++i) reduce(comm, 100);
  });
  for (const std::string& text : texts) EXPECT_THAT(text, HasSubstr("rank 3 lost rank "));
}

TEST_P(EveryAlgorithm, AbortOfOneRankEndsTheOthers) {
  const auto texts = errors([](Communicator& comm) {
    if (comm.rank() == 2) return comm.abort("the data is bad");
    reduce(comm, 100);
  });
  for (const int rank : {0, 1, 3, 4}) {
    EXPECT_THAT(texts[static_cast<std::size_t>(rank)],
                AllOf(StartsWith("aborted: "), HasSubstr("rank 2 aborted: the data is bad")));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways,
                         EveryAlgorithm,
                         testing::Values(Way{"ring"},
                                         Way{"recursive_doubling"},
                                         Way{"halving_doubling"},
                                         Way{"tree"},
                                         Way{"double_tree"},
                                         Way{"hierarchical"},
                                         Way{"hierarchical", Wire::shm}),
                         [](const auto& param) {
                           return param.param.algorithm +
                                  (param.param.wire == Wire::shm ? "_shm" : "");
                         });

}  // namespace
}  // namespace bp::test
