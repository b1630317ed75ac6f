// Tests comm_bench's tasks on ranks that are threads: each is correct, and wrong results are
// counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/comm/algorithm.h"
#include "bench/comm/measure.h"
#include "bench/comm/task.h"
#include "bench/comm/tune.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "tests/support/run_ranks.h"

namespace bp::bench {
namespace {

TEST(CommBench, EveryTaskIsCorrectInEveryType) {
  for (const int ranks : {1, 3, 4}) {
    test::run_ranks(ranks, [](Communicator& comm) {
      for (const std::string& op : operation_names()) {
        for (const DataType type : kDataTypes) {
          for (const std::size_t bytes : {1, 40, 1000}) {
            for (const Memory memory : {Memory::allocated, Memory::any}) {
              Task task = make_task(comm, op, type, bytes, {memory});
              EXPECT_EQ(measure(comm, task, {.touch = true}).wrong, 0) << op << name_of(type);
              EXPECT_EQ(measure(comm, task, {.iterations = 7}).wrong, 0) << op << name_of(type);
            }
          }
        }
      }
    });
  }
}

TEST(CommBench, WrongElementOfOneRankIsCountedOnAllRanks) {
  test::run_ranks(3, [](Communicator& comm) {
    for (const std::string op : {"all_reduce", "broadcast", "reduce_scatter", "all_gather"}) {
      Task task = make_task(comm, op, DataType::f32, 400);
      const auto honest = task.run;
      std::byte* const result = task.output.bytes() > 0 ? task.output.data() : task.input.data();
      task.run = [&] {
        honest();
        if (comm.rank() == 1) result[12] ^= std::byte{1};
      };
      const Measurement measured = measure(comm, task, {.iterations = 4, .touch = true});
      EXPECT_EQ(measured.wrong, 4 + 3) << op;  // the warm-up runs are checked too
    }
  });
}

// docs/acceptance.md, Other engines: comm_bench reports its backends and what it ran.
TEST(CommBench, ReportsWhetherMemoryWasReadInPlace) {
  const auto ran = [](Memory memory) {
    std::string algorithm;
    test::run_ranks(2,
                    [&](Communicator& comm) {
                      Task task = make_task(comm, "all_reduce", DataType::f32, 64 << 10, {memory});
                      EXPECT_EQ(measure(comm, task, {.iterations = 2}).wrong, 0);
                      if (comm.rank() == 0) {
                        algorithm = algorithm_that_ran(comm, "all_reduce", task);
                      }
                    },
                    {.wire = test::Wire::shm});
    return algorithm;
  };
  EXPECT_EQ(ran(Memory::allocated), "direct");
  EXPECT_EQ(ran(Memory::any), "staged");
}

// A collective that does nothing must be counted as wrong.
TEST(CommBench, UnchangedOutputIsWrong) {
  test::run_ranks(2, [](Communicator& comm) {
    for (const std::string op : {"all_reduce", "broadcast", "reduce_scatter", "all_gather"}) {
      Task task = make_task(comm, op, DataType::i32, 4000);
      task.run = [] {};
      EXPECT_GT(measure(comm, task, {.touch = true}).wrong, 1000) << op;
      EXPECT_GT(measure(comm, task, {}).wrong, 1000) << op;
    }
  });
}

TEST(CommBench, OneWrongRunOfSeveralIsCounted) {
  test::run_ranks(2, [](Communicator& comm) {
    Task task = make_task(comm, "all_reduce", DataType::f32, 400);
    const auto honest = task.run;
    int runs = 0;
    task.run = [&] {
      honest();
      if (++runs == 6 && comm.rank() == 0) task.input.data()[14] ^= std::byte{1};
    };
    EXPECT_GT(measure(comm, task, {.iterations = 5}).wrong, 0);
  });
}

TEST(CommBench, StopsAtItsTimeLimit) {
  test::run_ranks(2, [](Communicator& comm) {
    Task task = make_task(comm, "all_reduce", DataType::f32, 400);
    int runs = 0;
    const auto counted = task.run;
    task.run = [&] {
      counted();
      ++runs;
    };
    static_cast<void>(
        measure(comm, task, {.iterations = 1'000'000, .seconds = 1e-9, .touch = true}));
    EXPECT_EQ(runs, 3 + 5);  // the warm-up runs and the minimum number of runs
  });
}

TEST(CommBench, RefusesTasksThatItCannotCheck) {
  test::run_ranks(2, [](Communicator& comm) {
    Task task = make_task(comm, "all_reduce", DataType::bf16, 400);
    task.repeatable = 0;
    try {
      static_cast<void>(measure(comm, task, {}));
      FAIL() << "measured";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "sums of sums over 2 ranks are not exact in bf16, so they cannot "
                   "be checked; give --touch");
    }
  });
}

TEST(CommBench, ReportsTheAlgorithmThatRan) {
  test::RanksOptions options;
  const auto check = [&](int ranks, const std::string& op, std::size_t bytes, const char* used) {
    test::run_ranks(
        ranks, [&](Communicator& comm) { EXPECT_EQ(algorithm_used(comm, op, bytes), used); },
        options);
  };
  check(3, "all_reduce", 4, "recursive_doubling");
  check(3, "all_reduce", 64 << 20, "ring");
  check(3, "broadcast", 4, "binomial_tree");
  check(1, "all_reduce", 4, "none");
  options.communicator.algorithm = "halving_doubling";
  check(3, "all_reduce", 4, "halving_doubling");
}

// A backend names the algorithm of an operation in one place, so tables and records cannot differ.
TEST(CommBench, NamesAlgorithmsAsTheRecordDoes) {
  const auto check = [](Communicator& comm) {
    for (const std::string& op : operation_names()) {
      Task task = make_task(comm, op, DataType::f32, 400);
      task.restore();
      const std::size_t before = comm.recent().size();
      task.run();
      const auto recent = comm.recent();
      // A message has two ranks.
      EXPECT_TRUE(recent.size() > before || op == "message") << op;
      for (std::size_t i = before; i < recent.size(); ++i) {
        EXPECT_EQ(recent[i].algorithm, algorithm_used(comm, op, task.bytes)) << op;
      }
    }
  };
  test::RanksOptions options;
  for (const int ranks : {1, 3}) test::run_ranks(ranks, check, options);
  options.local_sizes = {2, 1};
  options.communicator.algorithm = "hierarchical";
  test::run_ranks(3, check, options);
}

TEST(CommBench, ShowsTheAlgorithmForEachSize) {
  std::ostringstream shown;
  test::run_ranks(4, [&](Communicator& comm) {
    if (comm.rank() == 0) print_selection(shown, comm);
  });
  EXPECT_THAT(shown.str(), testing::StartsWith("# 4 ranks on 1 hosts, backend test\n"));
  EXPECT_THAT(shown.str(),
              testing::HasSubstr("all_reduce      0 to 524287               recursive_doubling\n"
                                 "all_reduce      524288 to 2097151         halving_doubling\n"
                                 "all_reduce      from 2097152              ring\n"
                                 "reduce          any                       binomial_tree\n"));
}

TEST(CommBench, TunesAndUsesItsMeasurements) {
  std::ostringstream times;
  std::stringstream file;
  Options options;
  options.sizes = {4, 1000};
  options.iterations = 1;
  test::RanksOptions ranks;
  ranks.local_sizes = {2, 1};
  test::run_ranks(
      3,
      [&](Communicator& comm) {
        std::ostringstream others;
        const SelectionTable table = tune(comm, options, comm.rank() == 0 ? times : others);
        if (comm.rank() == 0) table.write(file);
      },
      ranks);
  EXPECT_THAT(times.str(), testing::HasSubstr("hierarchical                 1000"));
  EXPECT_EQ(
      SelectionTable(file, "tuned").rows({.backend = "test", .ranks = 3, .hosts = 2}).back().below,
      kAllThatIsLonger);

  ranks.measured.add({.backend = "test", .ranks = 3, .hosts = 2},
                     {kAllThatIsLonger, Algorithm::double_tree});
  test::run_ranks(
      3,
      [&](Communicator& comm) {
        EXPECT_EQ(algorithm_used(comm, "all_reduce", 4), "double_tree");
        std::vector<int> sum = {1};
        all_reduce(comm, view(sum));
        EXPECT_EQ(sum[0], 3);
      },
      ranks);
}

}  // namespace
}  // namespace bp::bench
