// Tests ranks that have no more data while others do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "comm/engine/api/impl.h"
#include "comm/engine/join_protocol.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

class Join : public testing::TestWithParam<Wire> {
 protected:
  static RanksOptions options() {
    RanksOptions options;
    options.wire = GetParam();
    options.communicator.joinable = true;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Wires, Join, testing::Values(Wire::inproc, Wire::gloo, Wire::shm));

// In the first epoch rank r has r + 1 batches. In the second the order is reversed, and rank 0 has
// the most.
// docs/acceptance.md, Ranks without data: A rank that has no more data joins, and the others
// continue. An average counts only the ranks that have not joined.
TEST_P(Join, SumsAndAveragesAreOverRanksWithData) {
  for (const int ranks : {1, 2, 3, 5}) {
    run_ranks(
        ranks,
        [](Communicator& comm) {
          for (const bool rank_zero_is_last : {false, true}) {
            const int last = rank_zero_is_last ? 0 : comm.size() - 1;
            const auto batches_of = [&](int r) { return comm.size() - std::abs(r - last); };
            for (int batch = 0; batch < batches_of(comm.rank()); ++batch) {
              const int active = comm.size() - batch;
              std::vector<std::int32_t> sum(500, 10 * comm.rank());
              all_reduce(comm, view(sum), {.name = "gradients"});
              int wanted = 0;
              for (int r = 0; r < comm.size(); ++r) wanted += batches_of(r) > batch ? 10 * r : 0;
              ASSERT_THAT(sum, Each(wanted)) << "batch " << batch;
              std::vector<float> mean(7, static_cast<float>(active));
              all_reduce(comm, view(mean),
                         {.op = ReduceOp::average, .prescale = 2, .postscale = 3});
              ASSERT_THAT(mean, Each(static_cast<float>(6 * active)));
              Work work = all_reduce_async(comm, view(mean));
              work.wait();
              ASSERT_THAT(mean, Each(static_cast<float>(6 * active * active)));
              barrier(comm, {.name = "batch"});
            }
            EXPECT_EQ(join(comm), last);
            std::vector<std::int32_t> rank = {comm.rank()};  // all ranks take part again
            broadcast(comm, view(rank), {.root = comm.size() - 1});
            EXPECT_EQ(rank[0], comm.size() - 1);
          }
        },
        options());
  }
}

// docs/acceptance.md, Ranks without data: join() returns the rank that joined last, or the highest
// of them.
TEST_P(Join, OfAllRanksAtOnceReturnsTheHighest) {
  run_ranks(
      3, [](Communicator& comm) { EXPECT_EQ(join(comm), 2); }, options());
}

// docs/acceptance.md, Ranks without data: After a join, other operations than sums, averages and
// barriers are an error that names the joined ranks.
TEST_P(Join, OtherOperationsAreAMismatchThatNamesTheJoinedRanks) {
  const auto texts = try_ranks(
      3,
      [](Communicator& comm) {
        std::vector<float> data(10);
        all_reduce(comm, view(data));
        if (comm.rank() == 1) {
          static_cast<void>(join(comm));
        } else {
          broadcast(comm, view(data), {.name = "weights"});
        }
      },
      options());
  EXPECT_THAT(texts, Each(AllOf(StartsWith("mismatch: rank 1 of world has joined, and the others "
                                           "asked for broadcast of 10 f32 from rank 0 'weights'"),
                                HasSubstr("only all_reduce of sums and averages"))));
}

TEST_P(Join, MaximumNeedsAllRanks) {
  const auto texts = try_ranks(
      2,
      [](Communicator& comm) {
        std::vector<float> data(10);
        if (comm.rank() == 0) {
          static_cast<void>(join(comm));
        } else {
          all_reduce(comm, view(data), {.op = ReduceOp::max});
        }
      },
      options());
  EXPECT_THAT(texts, Each(HasSubstr("rank 0 of world has joined, and the others asked for "
                                    "all_reduce max of 10 f32")));
}

// A joined rank contributes zeros, which is right for sums and averages only: any other reduction
// of the table must be refused.
TEST_P(Join, EveryReductionIsRightOrRefused) {
  for (const ReduceOp op : kReduceOps) {
    const std::vector<std::string> texts = try_ranks(
        2,
        [op](Communicator& comm) {
          if (comm.rank() == 1) {
            std::vector<std::int32_t> data = {5, -3};
            all_reduce(comm, view(data), {.op = op});
            EXPECT_THAT(data, testing::ElementsAre(5, -3)) << name_of(op);
          }
          static_cast<void>(join(comm));
        },
        options());
    if (op == ReduceOp::sum || op == ReduceOp::average) {
      EXPECT_THAT(texts, Each("")) << name_of(op);
    } else {
      EXPECT_THAT(texts, Each(HasSubstr(concat("rank 0 of world has joined, and the others asked "
                                               "for all_reduce ",
                                               name_of(op), " of 2 i32"))));
    }
  }
}

TEST_P(Join, DeadRankIsNamed) {
  const auto texts = try_ranks(
      3,
      [](Communicator& comm) {
        if (comm.rank() == 0) static_cast<void>(join(comm));
        if (comm.rank() == 2) throw std::runtime_error("of its own doing");
        std::vector<float> data(10);
        for (;;) all_reduce(comm, view(data));
      },
      options());
  for (const std::size_t rank : {0, 1}) EXPECT_THAT(texts[rank], HasSubstr("rank 2"));
}

// Rank 1 sends an altered record of an all_reduce to rank 0, which joins. Returns rank 0's error.
std::string error_after_record(const std::function<void(JoinRecord&)>& alter) {
  return try_ranks(2, [&](Communicator& comm) {
    CommunicatorOptions options = comm.impl().options();
    options.joinable = comm.rank() == 0;
    Communicator group = split_with(comm, 0, options);
    if (comm.rank() == 0) {
      static_cast<void>(join(group));
      return;
    }
    JoinRecord record{.kind = Operation::Kind::all_reduce, .type = DataType::f32, .count = 10};
    alter(record);
    std::vector<std::uint8_t> own(sizeof(record));
    std::memcpy(own.data(), &record, sizeof(record));
    std::vector<std::uint8_t> all(2 * own.size());
    all_gather(group, const_view(own), view(all), {.name = "which ranks have joined"});
    std::vector<float> data(10);
    all_reduce(group, view(data));
  })[0];
}

TEST(JoinRecords, ThatNoRankOfThisVersionSendsNameTheirRank) {
  struct Case {
    std::function<void(JoinRecord&)> alter;
    std::string problem;
  };
  const std::vector<Case> cases = {
      {[](JoinRecord& record) { record.name_bytes = 201; },
       "its name has 201 bytes, and the longest has 200"},
      {[](JoinRecord& record) { record.name_bytes = 255; },
       "its name has 255 bytes, and the longest has 200"},
      {[](JoinRecord& record) { record.kind = static_cast<Operation::Kind>(14); },
       "it asks for operation number 14, which does not exist"},
      {[](JoinRecord& record) { record.kind = Operation::Kind::message; },
       "it asks for operation number 10, which is not a collective"},
      {[](JoinRecord& record) { record.type = static_cast<DataType>(kDataTypes.size()); },
       "it has elements of type number 11, which does not exist"},
      {[](JoinRecord& record) { record.reduce = static_cast<ReduceOp>(kReduceOps.size()); },
       "it asks for reduction number 8, which does not exist"},
      {[](JoinRecord& record) { record.type = DataType::boolean; },
       "it asks for the reduction sum of bool elements, which is not defined"},
      {[](JoinRecord& record) { record.count = std::uint64_t{1} << 61; },
       "it has 2305843009213693952 f32 elements, more bytes than there are addresses"}};
  for (const Case& one : cases) {
    EXPECT_EQ(error_after_record(one.alter),
              concat("io: rank 1 of world.1.0 (world rank 1) sent a broken record of its next "
                     "operation: ",
                     one.problem, " (do all ranks run the same version of bp?)"));
  }
}

TEST(JoinArguments, AreChecked) {
  const auto refusal = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  run_ranks(2, [&](Communicator& comm) {
    EXPECT_EQ(refusal([&] { static_cast<void>(join(comm)); }),
              "join: ranks may not join here; create the communicator with "
              "CommunicatorOptions::joinable");
  });
  RanksOptions options;
  options.communicator.joinable = true;
  run_ranks(
      2,
      [&](Communicator& comm) {
        const std::string name(201, 'n');
        EXPECT_EQ(
            refusal([&] { barrier(comm, {.name = name}); }),
            concat("barrier '", name,
                   "': its name has 201 bytes; where ranks may join, names have at most 200"));
        barrier(comm, {.name = std::string_view(name).substr(1)});
      },
      options);
}

}  // namespace
}  // namespace bp::test
