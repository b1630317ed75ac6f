// comm_bench's tasks on ranks that are threads: each is right, and what is wrong is seen.
#include <gtest/gtest.h>

#include "bench/comm/algorithm.h"
#include "bench/comm/measure.h"
#include "bench/comm/task.h"
#include "tests/support/run_ranks.h"

namespace bp::bench {
namespace {

TEST(CommBench, EveryTaskIsRightInEveryType) {
  for (const int ranks : {1, 3, 4}) {
    test::run_ranks(ranks, [](Communicator& comm) {
      for (const std::string& op : operation_names()) {
        for (const DataType type : kTypes) {
          for (const std::size_t bytes : {1, 40, 1000}) {
            Task task = make_task(comm, op, type, bytes);
            EXPECT_EQ(measure(comm, task, 1).wrong, 0) << op << ' ' << name_of(type);
          }
        }
      }
    });
  }
}

TEST(CommBench, AnElementThatIsWrongOnOneRankIsCountedOnAll) {
  test::run_ranks(3, [](Communicator& comm) {
    for (const std::string op : {"all_reduce", "broadcast", "reduce_scatter", "all_gather"}) {
      Task task = make_task(comm, op, DataType::f32, 400);
      const auto honest = task.run;
      std::byte* const result = task.output.bytes() > 0 ? task.output.data() : task.input.data();
      task.run = [&] {
        honest();
        if (comm.rank() == 1) result[12] ^= std::byte{1};
      };
      const Measurement measured = measure(comm, task, 4);
      EXPECT_EQ(measured.wrong, 4 + 3) << op;  // the runs to warm up are checked too
    }
  });
}

// A collective that does nothing must not pass.
TEST(CommBench, LeavingEverythingAsItWasIsWrong) {
  test::run_ranks(2, [](Communicator& comm) {
    for (const std::string op : {"all_reduce", "broadcast", "reduce_scatter", "all_gather"}) {
      Task task = make_task(comm, op, DataType::i32, 4000);
      task.run = [] {};
      EXPECT_GT(measure(comm, task, 1).wrong, 1000) << op;
    }
  });
}

TEST(CommBench, SaysWhichAlgorithmRan) {
  test::run_ranks(3, [](Communicator& comm) {
    EXPECT_EQ(algorithm_used(comm, "all_reduce", "auto", 4), "recursive_doubling");
    EXPECT_EQ(algorithm_used(comm, "all_reduce", "auto", 64 << 20), "ring");
    EXPECT_EQ(algorithm_used(comm, "all_reduce", "ring", 4), "ring");
    EXPECT_EQ(algorithm_used(comm, "broadcast", "auto", 4), "binomial_tree");
  });
  test::run_ranks(1, [](Communicator& comm) {
    EXPECT_EQ(algorithm_used(comm, "all_reduce", "ring", 4), "none");
  });
}

}  // namespace
}  // namespace bp::bench
