// Every reduction with every element type, by every backend: exact where the table of bp/types.h
// defines the pair, and refused on the calling rank where it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "comm/backend/perform.h"
#include "tests/ranks/exact.h"
#include "tests/support/refusal.h"
#include "tests/support/run_ranks.h"
#include "tests/support/types.h"

namespace bp::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Lengths that are less than a vector, no multiple of one, and several segments.
constexpr std::size_t kCounts[] = {1, 5, 67, 1001};

struct Way {
  const char* name = "";
  int ranks = 3;
  Wire wire = Wire::inproc;
  const char* backend = "auto";
  const char* algorithm = "auto";
  std::vector<int> local_sizes = {};
};

class Pairs : public testing::TestWithParam<Way> {
 protected:
  static void run(const std::function<void(Communicator&)>& body,
                  const SegmentLimits& segments = RanksOptions().segments) {
    const Way& way = GetParam();
    RanksOptions options{.wire = way.wire, .local_sizes = way.local_sizes, .segments = segments};
    options.communicator.backend = way.backend;
    options.communicator.algorithm = way.algorithm;
    run_ranks(way.ranks, body, options);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Backends,
    Pairs,
    testing::Values(Way{.name = "self", .ranks = 1},
                    Way{.name = "shared", .wire = Wire::shm},
                    Way{.name = "cpu_ring", .algorithm = "ring"},
                    Way{.name = "cpu_recursive_doubling", .algorithm = "recursive_doubling"},
                    Way{.name = "cpu_halving_doubling", .algorithm = "halving_doubling"},
                    Way{.name = "cpu_tree", .algorithm = "tree"},
                    Way{.name = "cpu_double_tree", .algorithm = "double_tree"},
                    Way{.name = "hierarchical", .wire = Wire::shm, .local_sizes = {2, 1}},
                    Way{.name = "gloo", .wire = Wire::gloo},
                    Way{.name = "gloo_native", .wire = Wire::gloo, .backend = "gloo-native"}),
    [](const auto& way) { return std::string(way.param.name); });

template <class T>
void expect_exact(Communicator& comm, ReduceOp op) {
  for (const std::size_t count : kCounts) {
    auto data = input_of<T>(comm.rank(), count, op);
    all_reduce(comm, view(data), {.op = op});
    ASSERT_EQ(differences(data, reduction<T>(0, count, op, comm.size())), "")
        << name_of(op) << " of " << count << ' ' << name_of(kDataTypeOf<T>);
  }
}

template <class T>
void expect_refused(Communicator& comm, ReduceOp op) {
  std::vector<T> data(3);
  const std::vector<T> input(3 * static_cast<std::size_t>(comm.size()));
  const std::vector<View> tensors = {view(data)};
  const std::string why = concat(": the reduction ", name_of(op), " is not defined for ",
                                 name_of(kDataTypeOf<T>), " elements; use one of ");
  EXPECT_THAT(error_of([&] { all_reduce(comm, view(data), {.op = op}); }),
              StartsWith("invalid_argument: all_reduce" + why));
  EXPECT_THAT(error_of([&] { reduce(comm, view(data), {.op = op}); }),
              StartsWith("invalid_argument: reduce" + why));
  EXPECT_THAT(error_of([&] { reduce_scatter(comm, const_view(input), view(data), {.op = op}); }),
              StartsWith("invalid_argument: reduce_scatter" + why));
  EXPECT_THAT(error_of([&] { all_reduce_grouped(comm, tensors, {.op = op}); }),
              StartsWith("invalid_argument: all_reduce_grouped" + why));
}

TEST_P(Pairs, AreExactWhereDefinedAndElseRefused) {
  run([](Communicator& comm) {
    for_each_type([&]<class T>(std::type_identity<T>) {
      for (const ReduceOp op : kReduceOps) {
        can_reduce(op, kDataTypeOf<T>) ? expect_exact<T>(comm, op) : expect_refused<T>(comm, op);
      }
    });
  });
}

// A short tensor travels packed with others of its type, and a long one by itself.
TEST_P(Pairs, AreExactInAGroupOfOneOfEachType) {
  const auto body = [](Communicator& comm) {
    for (const ReduceOp op : kReduceOps) {
      std::vector<View> tensors;
      std::vector<std::function<std::string()>> checks;
      for_each_type([&]<class T>(std::type_identity<T>) {
        if (!can_reduce(op, kDataTypeOf<T>)) return;
        for (const std::size_t count : {std::size_t{7}, kPackedBytes / sizeof(T) + 3}) {
          const auto data = std::make_shared<std::vector<T>>(input_of<T>(comm.rank(), count, op));
          tensors.push_back(view(*data));
          checks.push_back([&comm, data, count, op] {
            return differences(*data, reduction<T>(0, count, op, comm.size()));
          });
        }
      });
      all_reduce_grouped(comm, tensors, {.op = op});
      for (std::size_t i = 0; i < checks.size(); ++i) {
        ASSERT_EQ(checks[i](), "") << name_of(op) << ' ' << name_of(tensors[i].type);
      }
    }
  };
  run(body, {.max_bytes = std::size_t{16} << 10, .min_bytes = std::size_t{4} << 10});
}

TEST(PairsAsGiven, NumbersThatAreNoTypeOrReductionAreRefused) {
  run_ranks(2, [](Communicator& comm) {
    std::vector<float> data(3);
    View odd = view(data);
    odd.type = static_cast<DataType>(200);
    EXPECT_THAT(error_of([&] { all_reduce(comm, odd); }),
                HasSubstr("data has elements of type number 200, which bp does not have"));
    EXPECT_THAT(error_of([&] { broadcast(comm, odd); }), HasSubstr("type number 200"));
    EXPECT_THAT(error_of([&] { all_reduce(comm, view(data), {.op = static_cast<ReduceOp>(77)}); }),
                HasSubstr("the reduction unknown reduction is not defined for f32 elements; use "
                          "one of sum, average, min, max, product"));
  });
}

// Types of one size must not be taken for each other: the header that ranks compare names them.
TEST(PairsAsGiven, EveryTwoTypesAreAMismatchBetweenRanks) {
  RanksOptions options{.wire = Wire::shm};
  for (const DataType mine : kDataTypes) {
    for (const DataType other : kDataTypes) {
      if (other <= mine) continue;
      const auto told = try_ranks(
          2,
          [&](Communicator& comm) {
            alignas(16) std::array<std::byte, 160> memory{};
            broadcast(comm, {memory.data(), 10, comm.rank() == 0 ? mine : other});
          },
          options);
      EXPECT_THAT(told, testing::Each(HasSubstr(
                            concat("rank 0 asked for broadcast of 10 ", name_of(mine),
                                   " from rank 0; rank 1 for broadcast of 10 ", name_of(other)))));
    }
  }
}

}  // namespace
}  // namespace bp::test
