// Tests factors before and after a reduction, groups of tensors, and the limit of operations in
// flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>

#include "bp/collective.h"
#include "bp/error.h"
#include "comm/backend/perform.h"
#include "tests/support/patterns.h"
#include "tests/support/run_ranks.h"
#include "tests/support/types.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class OnEachWire : public testing::TestWithParam<Wire> {
 protected:
  static RanksOptions options() { return {.wire = GetParam()}; }
};
class Scaling : public OnEachWire {};
class Grouped : public OnEachWire {};

INSTANTIATE_TEST_SUITE_P(Wires, Scaling, testing::Values(Wire::inproc, Wire::shm));
INSTANTIATE_TEST_SUITE_P(Wires, Grouped, testing::Values(Wire::inproc, Wire::shm));

template <class T>
void expect_scaled(Communicator& comm) {
  const auto n = static_cast<std::int64_t>(comm.size());
  std::vector<T> data(300, encode<T>(comm.rank() + 1));
  all_reduce(comm, view(data), {.prescale = 2, .postscale = 0.5});
  EXPECT_THAT(data, Each(encode<T>(n * (n + 1) / 2)));

  const std::vector<T> input(300, encode<T>(4));
  std::vector<T> part(block_of(300, comm.size(), comm.rank()).count);
  reduce_scatter(comm, const_view(input), view(part), {.prescale = 0.25, .postscale = 3});
  EXPECT_THAT(part, Each(encode<T>(3 * n)));
  EXPECT_THAT(input, Each(encode<T>(4)));  // the input is not written

  const int root = comm.size() - 1;
  std::vector<T> sum(300, encode<T>(2));
  reduce(comm, view(sum), {.prescale = 1.5, .postscale = 2, .root = root});
  EXPECT_THAT(sum, Each(encode<T>(comm.rank() == root ? 6 * n : 2)));
}

// docs/acceptance.md, Values: A sum may have a factor before and one after it.
TEST_P(Scaling, IsExactInEveryTypeAndLeavesInputsAlone) {
  for (const int ranks : {1, 2, 3, 5}) {
    run_ranks(
        ranks,
        [](Communicator& comm) {
          for_each_type([&]<class T>(std::type_identity<T>) {
            if constexpr (can_reduce(ReduceOp::sum, kDataTypeOf<T>)) expect_scaled<T>(comm);
          });
        },
        options());
  }
}

TEST_P(Scaling, TruncatesIntegersBeforeAndAfter) {
  run_ranks(
      3,
      [](Communicator& comm) {
        std::vector<std::int32_t> data = {3, -3, 7};
        all_reduce(comm, view(data), {.prescale = 0.5});
        EXPECT_THAT(data, ElementsAre(3, -3, 9));
        all_reduce(comm, view(data), {.op = ReduceOp::average, .postscale = 0.5});
        EXPECT_THAT(data, ElementsAre(1, -1, 4));
      },
      options());
}

// docs/acceptance.md, Disagreement and misuse: Another factor on one rank is an error on all.
TEST(ScalingArguments, OtherFactorsAreAMismatchAndOtherOperationsHaveNone) {
  const auto texts = try_ranks(2, [](Communicator& comm) {
    std::vector<float> data(10);
    try {
      broadcast(comm, view(data), {.postscale = 2, .name = "x"});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "broadcast 'x': there is nothing to scale: prescale and postscale are for "
                   "reductions");
    }
    all_reduce(comm, view(data), {.prescale = comm.rank() == 0 ? 1 : 0.5});
  });
  EXPECT_THAT(texts, Each(HasSubstr("rank 0 asked for all_reduce sum of 10 f32; rank 1 for "
                                    "all_reduce sum of 10 f32 scaled by 0.5 before and 1 after")));
}

TEST(ScalingArguments, TruthValuesAreNotScaled) {
  run_ranks(2, [](Communicator& comm) {
    bool data[3] = {};
    try {
      all_reduce(comm, view(data), {.op = ReduceOp::max, .postscale = 2, .name = "x"});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "all_reduce 'x': bool elements cannot be scaled; leave out prescale and "
                   "postscale");
    }
  });
}

// docs/acceptance.md, Values: Tensors of several types and sizes are reduced as one operation.
TEST_P(Grouped, TensorsOfAllTypesAreOneOperation) {
  for (const int ranks : {1, 3, 4}) {
    run_ranks(
        ranks,
        [](Communicator& comm) {
          const auto n = comm.size();
          constexpr std::size_t kLong = kPackedBytes / sizeof(float) + 5;
          std::vector<float> first(3, 1.0F + static_cast<float>(comm.rank()));
          std::vector<std::int64_t> second(70, comm.rank());
          std::vector<float> longest(kLong, 2);
          std::vector<float> nothing;
          std::vector<float> last(1, static_cast<float>(comm.rank()));
          const std::vector<View> tensors = {view(first), view(second), view(longest),
                                             view(nothing), view(last)};
          const auto before = comm.counters().operations;
          all_reduce_grouped(comm, tensors, {.name = "several"});
          EXPECT_EQ(comm.counters().operations, before + 1);
          EXPECT_THAT(first, Each(static_cast<float>(n * (n + 1) / 2)));
          EXPECT_THAT(second, Each(n * (n - 1) / 2));
          EXPECT_THAT(longest, Each(static_cast<float>(2 * n)));
          EXPECT_THAT(last, Each(static_cast<float>(n * (n - 1) / 2)));
          Work again =
              all_reduce_grouped_async(comm, tensors, {.op = ReduceOp::average, .prescale = 2});
          again.wait();
          EXPECT_THAT(longest, Each(static_cast<float>(4 * n)));
        },
        options());
  }
}

// docs/acceptance.md, Disagreement and misuse: An empty group of tensors is refused, and all ranks
// must agree on every tensor of a group.
TEST(GroupedArguments, AreCheckedHereAndOnAllRanks) {
  const auto texts = try_ranks(2, [](Communicator& comm) {
    const auto refused = [&](std::span<const View> tensors) {
      try {
        all_reduce_grouped(comm, tensors);
      } catch (const Error& error) {
        return std::string(error.what());
      }
      return std::string("no error");
    };
    const View nowhere{nullptr, 3, DataType::f32};
    std::vector<float> a(10);
    std::vector<std::int64_t> b(2);
    EXPECT_EQ(refused({}), "all_reduce_grouped: there are no tensors; give at least one");
    EXPECT_EQ(refused(std::vector{view(a), nowhere}),
              "all_reduce_grouped: tensor 1 has 3 elements at no address");
    std::vector<View> tensors = {view(a), view(b)};
    if (comm.rank() == 1) std::swap(tensors[0], tensors[1]);
    all_reduce_grouped(comm, tensors);
  });
  EXPECT_THAT(texts, Each(HasSubstr("rank 0 asked for all_reduce_grouped sum of 10 f32 + 2 i64; "
                                    "rank 1 for all_reduce_grouped sum of 2 i64 + 10 f32")));
}

// docs/acceptance.md, Operations in flight and groups: A limit on operations in flight makes the
// next one wait. It is refused at its deadline.
TEST(InFlight, OperationBeyondTheLimitWaitsAndIsThenRefused) {
  RanksOptions options;
  options.communicator.max_in_flight = 2;
  std::latch refused(1);
  run_ranks(
      2,
      [&](Communicator& comm) {
        std::vector<float> data(3, 1);
        const auto start = [&](std::size_t i, std::chrono::milliseconds timeout) {
          return all_reduce_async(comm, view(std::span(data).subspan(i, 1)),
                                  {.name = "some", .timeout = timeout});
        };
        if (comm.rank() == 1) refused.wait();  // until then no operation of rank 0 can end
        std::vector<Work> works;
        works.push_back(start(0, 20s));
        works.push_back(start(1, 20s));
        if (comm.rank() == 0) {
          try {
            works.push_back(start(2, 20ms));
            ADD_FAILURE() << "no error";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::timeout);
            EXPECT_STREQ(error.what(),
                         "rank 0 did not begin all_reduce sum of 1 f32 'some': 2 operations are in "
                         "flight, as many as max_in_flight allows, and none ended within 20 ms "
                         "(wait for earlier ones, or allow more)");
          }
          refused.count_down();
        }
        works.push_back(start(2, 20s));  // waits until an operation ends
        for (Work& work : works) work.wait();
        EXPECT_THAT(data, Each(2.0F));
      },
      options);
}

}  // namespace
}  // namespace bp::test
