// What a process may still do with its communicators after the end of the world, or after a fork.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "tests/support/refusal.h"
#include "tests/support/run_processes.h"

namespace bp::test {
namespace {

RANK_BODY(group_after_world) {
  Communicator world = Communicator::create();
  Communicator group = world.split(0);
  barrier(group);
  world.finish();
  const std::string refused =
      "aborted: world.1.0 ended when this rank finished the world: call finish() of groups first";
  EXPECT_EQ(error_of([&] { barrier(group); }), refused);
  EXPECT_EQ(error_of([&] { group.finish(); }), refused);
  EXPECT_EQ(error_of([&] { static_cast<void>(world.recover()); }),
            "invalid_argument: world has nothing to recover from: it has finished");
  return 0;
}

TEST(ProcessEnds, GroupsEndWithTheWorld) { run_processes("group_after_world", {.ranks = 2}); }

// A forked process has none of the communicator's threads, so its destructor must wait for none.
RANK_BODY(forks) {
  Communicator world = Communicator::create();
  std::vector<float> data(1000, 1);
  all_reduce_async(world, view(data)).wait();  // starts the progress thread
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    { const Communicator copy = std::move(world); }
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  all_reduce_async(world, view(data)).wait();
  EXPECT_THAT(data, testing::Each(4));
  world.finish();
  return 0;
}

TEST(ProcessEnds, AForkedProcessMayDestroyACommunicator) { run_processes("forks", {.ranks = 2}); }

}  // namespace
}  // namespace bp::test
