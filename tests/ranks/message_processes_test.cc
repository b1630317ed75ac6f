// Tests messages between ranks that are processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "bp/collective.h"
#include "bp/communicator.h"
#include "tests/support/run_processes.h"

namespace bp::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two programs that users write. In this one each rank sends to the next and receives from the
// previous one.
RANK_BODY(send_async_then_receive) {
  Communicator world = Communicator::create();
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  for (const std::size_t count : {std::size_t{8}, std::size_t{1'000'000}}) {
    const std::vector<std::int32_t> out(count, world.rank());
    std::vector<std::int32_t> in(count, -1);
    Work sent = send_async(world, const_view(out), next);
    receive(world, view(in), previous);
    sent.wait();
    EXPECT_THAT(in, testing::Each(previous));
  }
  world.finish();
  return 0;
}

RANK_BODY(receive_async_then_send) {
  Communicator world = Communicator::create();
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  for (const std::size_t count : {std::size_t{8}, std::size_t{1'000'000}}) {
    const std::vector<std::int32_t> out(count, world.rank());
    std::vector<std::int32_t> in(count, -1);
    Work received = receive_async(world, view(in), previous);
    send(world, const_view(out), next);
    received.wait();
    EXPECT_THAT(in, testing::Each(previous));
  }
  world.finish();
  return 0;
}

// Rank 0 gives work to whichever rank asks first; the others ask again and again.
RANK_BODY(work_for_any_rank) {
  Communicator world = Communicator::create();
  constexpr int kAsk = 1;
  constexpr int kTask = 2;
  constexpr std::int64_t kTasks = 40;
  std::int64_t done = 0;
  std::vector<std::int64_t> task(1);
  if (world.rank() == 0) {
    for (std::int64_t next = 0; next < kTasks + world.size() - 1; ++next) {
      const auto asked = receive(world, view(task), kAnySource, {.tag = kAsk});
      task[0] = next < kTasks ? next : -1;
      send(world, const_view(task), asked.sender, {.tag = kTask});
    }
  } else {
    for (;;) {
      send(world, const_view(task), 0, {.tag = kAsk});
      receive(world, view(task), 0, {.tag = kTask});
      if (task[0] < 0) break;
      done += task[0];
    }
  }
  std::vector<std::int64_t> sum = {done};
  all_reduce(world, view(sum));
  EXPECT_EQ(sum[0], kTasks * (kTasks - 1) / 2);
  world.finish();
  return 0;
}

// docs/acceptance.md, Messages: Programs send and receive their own messages, in any order, beside
// collectives and within groups, over every backend.
TEST(MessageProcesses, CompleteInAnyOrderOverEveryBackend) {
  for (const char* body :
       {"send_async_then_receive", "receive_async_then_send", "work_for_any_rank"}) {
    for (const char* backend : {"shm", "gloo", "gloo-native"}) {
      SCOPED_TRACE(std::string(body) + " by " + backend);
      run_processes(body, {.ranks = 3, .environment = {std::string("BP_BACKEND=") + backend}});
    }
    run_processes(body, {.ranks = 3, .local_sizes = {2, 1}});
  }
}

// The receiver uses no message of the group before the sender has left.
RANK_BODY(leave_after_a_message_of_a_group) {
  Communicator world = Communicator::create();
  Communicator group = world.split(0);
  std::vector<std::int32_t> data(8, 7);
  if (world.rank() == 0) {
    send(group, const_view(data), 1);
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    data.assign(data.size(), 0);
    receive(group, view(data), 0);
    EXPECT_THAT(data, testing::Each(7));
  }
  world.finish();
  return 0;
}

// docs/acceptance.md, Messages: The world's finish() waits for the messages of its groups.
TEST(MessageProcesses, WorldsFinishWaitsForTheMessagesOfItsGroups) {
  for (const char* backend : {"shm", "gloo"}) {
    run_processes("leave_after_a_message_of_a_group",
                  {.ranks = 2, .environment = {std::string("BP_BACKEND=") + backend}});
  }
}

RANK_BODY(any_source_for_ever) {
  Communicator world = Communicator::create();
  std::vector<float> data(1);
  std::cout << "ready" << std::endl;
  receive(world, view(data), kAnySource, {.tag = kAnyTag});
  return 0;
}

// docs/acceptance.md, Messages: A receive names the rank that died, even one from any rank.
TEST(MessageProcesses, ReceiveFromAnyRankNamesTheDeadRank) {
  for (const char* backend : {"gloo", "auto"}) {
    const auto results = try_processes(
        "any_source_for_ever",
        {.ranks = 3, .environment = {std::string("BP_BACKEND=") + backend}, .victim = 2});
    for (const std::size_t rank : {0, 1}) {
      EXPECT_EQ(results[rank].exit_code, 1) << "signal " << results[rank].signal;
      EXPECT_THAT(results[rank].output, AllOf(HasSubstr("peer_lost: "), HasSubstr("rank 2")));
      EXPECT_LT(results[rank].ended_after, std::chrono::seconds(15));
    }
  }
}

}  // namespace
}  // namespace bp::test
