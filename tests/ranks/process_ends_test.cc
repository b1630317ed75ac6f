// What a process may still do with its communicators after the end of the world, or after a fork.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/store.h"
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

// Returns the bytes of shared memory that this process has in use.
std::size_t shared_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kibibytes = 0;
    if (word == "RssShmem:" && status >> kibibytes) return kibibytes << 10;
  }
  ADD_FAILURE() << "no RssShmem in /proc/self/status";
  return 0;
}

void use_group(Communicator& world, int color) {
  std::vector<float> data(30'000, 1);
  Communicator group = world.split(color);
  all_reduce(group, view(data));
  EXPECT_EQ(data.back(), static_cast<float>(group.size()));
  if (color >= 0) group.finish();  // it may also end without that
}

// Sometimes two groups exist at a time, and sometimes a rank is alone in its group.
RANK_BODY(many_groups) {
  constexpr int kGroups = 1'000;
  Communicator world = Communicator::create();
  std::size_t before = 0;
  for (int i = 0; i < kGroups; ++i) {
    if (i == kGroups / 10) before = shared_bytes();
    if (i % 10 == 1) {
      const Communicator beside = world.split(0);
      use_group(world, 1);
    } else {
      use_group(world, i % 10 == 2 ? world.rank() : i % 10 == 3 ? -1 : 0);
    }
  }
  EXPECT_LT(shared_bytes(), before + (std::size_t{4} << 20));
  world.finish();
  return 0;
}

// docs/acceptance.md, Operations in flight and groups: Thousands of groups one after another take
// no more memory than a few.
TEST(ProcessEnds, GroupsGiveTheirMemoryBack) { run_processes("many_groups", {.ranks = 3}); }

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

// docs/acceptance.md, Disagreement and misuse: A forked process may destroy what its parent has.
TEST(ProcessEnds, AForkedProcessMayDestroyACommunicator) { run_processes("forks", {.ranks = 2}); }

// What a forked process calls, and what it gets.
void try_all_calls(Communicator& world, Work& work, std::span<float> data) {
  const auto refused = [](const std::string& called, const std::string& object) {
    return concat("invalid_argument: ", called,
                  ": this process was forked from the one that made the ", object,
                  ", and only that one can use it (let the child execute a program, or leave it to "
                  "the parent to call bp)");
  };
  const auto of_world = [&](const std::string& called) { return refused(called, "communicator"); };
  Store& store = *world.store();
  EXPECT_EQ(error_of([&] { all_reduce(world, view(data)); }), of_world("all_reduce"));
  EXPECT_EQ(error_of([&] { static_cast<void>(barrier_async(world)); }), of_world("barrier"));
  EXPECT_EQ(error_of([&] { send(world, const_view(data), 0); }), of_world("send"));
  EXPECT_EQ(error_of([&] { receive(world, view(data), 0); }), of_world("receive"));
  EXPECT_EQ(error_of([&] { static_cast<void>(world.split(0)); }), of_world("split"));
  EXPECT_EQ(error_of([&] { static_cast<void>(world.allocate(8)); }), of_world("allocate"));
  EXPECT_EQ(error_of([&] { static_cast<void>(world.recover()); }), of_world("recover"));
  EXPECT_EQ(error_of([&] { static_cast<void>(world.counters()); }), of_world("counters"));
  EXPECT_EQ(error_of([&] { world.abort("the child does"); }), of_world("abort"));
  EXPECT_EQ(error_of([&] { world.finish(); }), of_world("finish"));
  EXPECT_EQ(error_of([&] { work.wait(); }), refused("wait", "operation"));
  EXPECT_EQ(error_of([&] { static_cast<void>(work.done()); }), refused("done", "operation"));
  const auto of_store = [&](const std::string& called) {
    return refused(called, "store's client");
  };
  EXPECT_EQ(error_of([&] { store.set("key", "child"); }), of_store("set"));
  EXPECT_EQ(error_of([&] { store.fail_job({0, "the child fails"}); }), of_store("fail_job"));
  EXPECT_EQ(error_of([&] { store.goodbye(); }), of_store("goodbye"));
  EXPECT_EQ(error_of([&] { static_cast<void>(store.job_failure()); }), of_store("job_failure"));
}

// Ends the child at the end of its static objects' lives: before LeakSanitizer, which would count
// what the threads of its parent hold, and before OpenSSL frees its tables, for which
// AddressSanitizer may need a lock that a thread of the parent held when it was forked.
struct LastOfChild {
  LastOfChild() = default;
  LastOfChild(const LastOfChild&) = delete;
  LastOfChild& operator=(const LastOfChild&) = delete;
  ~LastOfChild() {
    if (exit_code >= 0) ::_exit(exit_code);
  }
  int exit_code = -1;
};

RANK_BODY(child_calls) {
  Communicator world = Communicator::create();
  // exit() destroys them in the child, the last one first.
  static LastOfChild last_of_child;
  static Work left_in_flight;
  static Buffer left_allocated;
  std::vector<float> data(1000, 1);
  all_reduce(world, view(data));
  left_allocated = world.allocate(std::size_t{1} << 20);
  const std::span kept(reinterpret_cast<float*>(left_allocated.data()), 1000);
  std::ranges::fill(kept, 7.0F);
  left_in_flight = receive_async(world, view(data), (world.rank() + 1) % world.size());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    try_all_calls(world, left_in_flight, data);
    last_of_child.exit_code = testing::Test::HasFailure() ? 1 : 0;
    std::exit(last_of_child.exit_code);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(kept, testing::Each(7));
  const std::vector<float> ones(1000, 1);
  send(world, const_view(ones), (world.rank() + world.size() - 1) % world.size());
  left_in_flight.wait();
  EXPECT_THAT(data, testing::Each(1));
  for (int i = 0; i < 10; ++i) {
    std::ranges::fill(data, 1.0F);
    all_reduce(world, view(data));
    EXPECT_THAT(data, testing::Each(world.size()));
  }
  EXPECT_EQ(world.store()->find("key"), std::nullopt);
  left_allocated = Buffer();
  world.finish();
  return 0;
}

// docs/acceptance.md, Disagreement and misuse: A forked process that calls its parent's
// communicator is refused, and the job is left alone.
TEST(ProcessEnds, WhatAForkedProcessCallsIsRefusedAndLeavesTheJobAlone) {
  run_processes("child_calls", {.ranks = 3});
  run_processes("child_calls", {.ranks = 3, .environment = {"BP_BACKEND=gloo"}});
}

}  // namespace
}  // namespace bp::test
