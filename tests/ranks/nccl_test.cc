// Collectives by NCCL, with the fake NCCL on devices of the fake CUDA runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "tests/ranks/collectives.h"
#include "tests/ranks/nccl_ranks.h"
#include "tests/ranks/operations.h"
#include "tests/ranks/program_stream.h"
#include "tests/support/refusal.h"
#include "tests/support/run_processes.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;

class Nccl : public testing::TestWithParam<std::tuple<int, Wire>> {
 protected:
  [[nodiscard]] static int ranks() { return std::get<0>(GetParam()); }
  [[nodiscard]] static RanksOptions options() { return with_nccl(std::get<1>(GetParam())); }
};
INSTANTIATE_TEST_SUITE_P(Ranks,
                         Nccl,
                         testing::Combine(testing::Values(1, 2, 3),
                                          testing::Values(Wire::inproc, Wire::shm)));

// docs/acceptance.md, Devices: Every collective is exact where NCCL is used.
TEST_P(Nccl, EveryCollectiveIsExact) {
  ASSERT_EQ(kHasDevices, 0);
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        take_own_device(comm);
        EXPECT_EQ(check_main_collectives(comm, 64), "");
        EXPECT_EQ(check_main_operations(comm, 64), "");
      },
      options());
}

TEST_P(Nccl, CarriesOutWhatItHas) {
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        take_own_device(comm);
        Floats data(std::vector<float>(10'000, 1));
        all_reduce(comm, data.view());
        EXPECT_EQ(last_algorithm(comm), "nccl");
        EXPECT_THAT(data.values(), Each(comm.size()));
        all_reduce(comm, data.view(), {.op = ReduceOp::average});
        EXPECT_EQ(last_algorithm(comm), "nccl");
        EXPECT_THAT(data.values(), Each(comm.size()));
        broadcast(comm, data.view(), {.root = comm.size() - 1});
        EXPECT_EQ(last_algorithm(comm), "nccl");
        Work work = all_reduce_async(comm, data.view(), {.op = ReduceOp::max});
        work.wait();
        EXPECT_EQ(last_algorithm(comm), "nccl");
      },
      options());
}

// The fake would end the process if nothing ordered the stream's copies and NCCL's work.
TEST_P(Nccl, AStreamThatWaitsSeesTheResult) {
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        take_own_device(comm);
        const ProgramStream stream(test_device);
        Floats data(std::vector<float>(100, -1));
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average}) {
          stream.pause(20);
          stream.write(data.view(), std::vector<float>(100, 2));
          Work work = all_reduce_async(comm, data.view(), {.op = op, .stream = stream.get()});
          work.wait(stream.get());
          stream.read(data.view());
          const int factor = op == ReduceOp::sum ? comm.size() : 1;
          EXPECT_THAT(stream.finished(100), Each(2 * factor));
        }
        all_reduce(comm, data.view(), {.prescale = 2, .postscale = 0.25});
        all_reduce_async(comm, data.view(), {.postscale = 0.5}).wait(stream.get());
        stream.read(data.view());
        EXPECT_THAT(stream.finished(100), Each(comm.size() * comm.size() * 0.5));
      },
      options());
}

// The program's thread waits until the operation is on the device, and not for what the stream had
// before. A pause that is too short for a busy machine is doubled.
// docs/acceptance.md, Devices: A stream that waits for NCCL does not block the program.
TEST(NcclOrder, WaitOfAStreamDoesNotBlockTheProgram) {
  run_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        const ProgramStream stream(test_device);
        Floats data(std::vector<float>(100, 1));
        std::vector<int> was_early = {0};
        for (int pause = 100; was_early[0] == 0 && pause < 10'000; pause *= 2) {
          stream.pause(pause);
          const auto before = stream.record();
          all_reduce_async(comm, data.view(), {.stream = stream.get()}).wait(stream.get());
          was_early[0] = before->reached() ? 0 : 1;
          static_cast<void>(stream.finished(1));
          all_reduce(comm, bp::view(was_early), {.op = ReduceOp::min});
        }
        EXPECT_EQ(was_early[0], 1);
      },
      with_nccl());
}

// docs/acceptance.md, Devices: NCCL starts without blocking.
TEST(NcclStart, IsAskedUntilItIsDone) {
  const Variable slow("FAKE_NCCL_IN_PROGRESS", "5");
  const int asked = nccl_calls("ncclCommGetAsyncError");
  run_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        Floats data({1, 2});
        all_reduce(comm, data.view());
        EXPECT_THAT(data.values(), testing::ElementsAre(2, 4));
      },
      with_nccl());
  // Of each rank: its start, and its operation.
  EXPECT_GE(nccl_calls("ncclCommGetAsyncError"), asked + 2 * 2 * (5 + 1));
}

// docs/acceptance.md, Devices: A start of NCCL that takes too long is aborted.
TEST(NcclStart, ThatTakesTooLongIsAborted) {
  const Variable slow("FAKE_NCCL_IN_PROGRESS", "1000000");
  const int aborted = nccl_calls("ncclCommAbort");
  const auto errors = try_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        const Floats data({1});
        all_reduce(comm, data.view(), {.timeout = 300ms});
      },
      with_nccl());
  for (const std::string& error : errors) {
    EXPECT_THAT(error, testing::StartsWith("timeout: rank "));
    EXPECT_THAT(error, HasSubstr(" waited 300 ms for another rank in all_reduce sum of 1 f32"));
  }
  EXPECT_EQ(nccl_calls("ncclCommAbort"), aborted + 2);
}

// docs/acceptance.md, Devices: NCCL with two ranks on one device is refused before it starts.
TEST(NcclDevices, TwoRanksOnOneAreRefusedBeforeTheStart) {
  const int started = nccl_calls("ncclCommInitRankConfig");
  const auto errors = try_ranks(
      3,
      [](Communicator& comm) {
        test_device.index = comm.rank() == 1 ? 0 : 3;
        all_reduce(comm, Floats({1}).view());
      },
      with_nccl());
  for (const std::string& error : errors) {
    EXPECT_THAT(error, testing::StartsWith(
                           "mismatch: ranks 0 and 2 use the same CUDA device, 0000:04:00.0 of "));
    EXPECT_THAT(error, HasSubstr("; NCCL needs one for each rank: give each its own"));
  }
  EXPECT_EQ(nccl_calls("ncclCommInitRankConfig"), started);
}

// docs/acceptance.md, Devices: Two ranks on one device go through host memory if they may.
TEST(NcclDevices, TwoRanksOnOneGoThroughHostMemoryIfTheyMay) {
  const int started = nccl_calls("ncclCommInitRankConfig");
  run_ranks(2,
            [](Communicator& comm) {
              Floats data({1});
              all_reduce(comm, data.view());
              EXPECT_THAT(data.values(), Each(2));
              EXPECT_NE(last_algorithm(comm), "nccl");
            },
            {.wire = Wire::shm, .devices = DeviceBackend::nccl_or_staged});
  EXPECT_EQ(nccl_calls("ncclCommInitRankConfig"), started);
}

TEST(NcclDevices, RanksThatMayJoinGoThroughHostMemory) {
  RanksOptions options = with_nccl();
  options.communicator.joinable = true;
  run_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        Floats data({1});
        if (comm.rank() == 0) all_reduce(comm, data.view());
        EXPECT_EQ(join(comm), 0);
        EXPECT_THAT(data.values(), Each(1));
      },
      options);
}

// docs/acceptance.md, Devices: Groups connect their own ranks by NCCL.
TEST(NcclDevices, GroupsConnectTheirOwnRanks) {
  run_ranks(
      3,
      [](Communicator& comm) {
        take_own_device(comm);
        Communicator group = comm.split(comm.rank() % 2);
        Floats data({1});
        all_reduce(group, data.view());
        EXPECT_EQ(last_algorithm(group), "nccl");
        EXPECT_THAT(data.values(), Each(group.size()));
        all_reduce(comm, data.view());
        EXPECT_THAT(data.values(), Each(5));
      },
      with_nccl());
}

RANK_BODY(by_nccl) {
  Communicator world = Communicator::create();
  take_own_device(world);
  EXPECT_EQ(check_main_collectives(world, 4096), "");
  EXPECT_EQ(check_main_operations(world, 4096), "");
  Floats data({1});
  all_reduce(world, data.view());
  EXPECT_EQ(last_algorithm(world), "nccl");
  std::vector<float> host(1, 1);
  all_reduce(world, view(host));
  EXPECT_THAT(host, Each(world.size()));
  world.finish();
  return 0;
}

// docs/acceptance.md, Devices: Every collective is exact by NCCL in processes on uneven hosts.
TEST(NcclProcesses, EveryCollectiveIsExactOnUnevenHosts) {
  run_processes("by_nccl", {.ranks = 3, .local_sizes = {2, 1}, .environment = {"BP_BACKEND=nccl"}});
}

// docs/acceptance.md, Devices: Factors are NCCL's where its products equal bp's. A rank alone uses
// NCCL too.
TEST(NcclProcesses, ARankAloneUsesItToo) {
  run_processes("by_nccl", {.ranks = 1, .environment = {"BP_BACKEND=nccl"}});
}

// docs/acceptance.md, Devices: "auto" takes NCCL if all ranks have it.
TEST(NcclProcesses, AreTakenByAutoWhereAllHaveIt) { run_processes("by_nccl", {.ranks = 2}); }

// One rank has not loaded NCCL.
RANK_BODY(some_have_nccl) {
  if (std::string(std::getenv("RANK")) == "1") ::unsetenv("BP_NCCL");
  Communicator world = Communicator::create();
  take_own_device(world);
  Floats data({1});
  all_reduce(world, data.view());
  EXPECT_THAT(data.values(), Each(world.size()));
  EXPECT_NE(last_algorithm(world), "nccl");
  world.finish();
  return 0;
}

// docs/acceptance.md, Devices: "auto" goes through host memory if one rank lacks NCCL.
TEST(NcclProcesses, AutoGoesThroughHostMemoryWhereOneHasNot) {
  run_processes("some_have_nccl", {.ranks = 2});
}

RANK_BODY(one_must_use_nccl) {
  const bool must = std::string(std::getenv("RANK")) == "0";
  if (!must) ::unsetenv("BP_NCCL");
  static_cast<void>(Communicator::create({.backend = must ? "nccl" : "auto"}));
  return 0;
}

TEST(NcclProcesses, ThatWereNotAllAskedAreTold) {
  for (const ProcessResult& result : try_processes("one_must_use_nccl", {.ranks = 2})) {
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.output, HasSubstr("only 1 of 2 ranks can use NCCL, or were asked to"));
  }
}

RANK_BODY(without_nccl) {
  ::setenv("BP_NCCL", "/nowhere/libnccl.so.2", 1);
  EXPECT_THAT(
      error_of([] { static_cast<void>(Communicator::create({.backend = "nccl"})); }),
      testing::StartsWith("unavailable: the backend nccl cannot be used here: BP_NCCL names "
                          "no library that loads: /nowhere/libnccl.so.2: "));
  Communicator world = Communicator::create();  // auto goes through host memory
  Floats data({1});
  all_reduce(world, data.view());
  EXPECT_THAT(data.values(), Each(world.size()));
  world.finish();
  return 0;
}

// docs/acceptance.md, Devices: Ranks without NCCL learn why, and may continue without it.
TEST(NcclProcesses, WithoutTheLibraryAreToldWhyAndMayGoOn) {
  run_processes("without_nccl", {.ranks = 2});
}

RANK_BODY(without_device) {
  EXPECT_EQ(error_of([] { static_cast<void>(Communicator::create({.backend = "nccl"})); }),
            "unavailable: the backend nccl cannot be used here: CUDA finds no device: "
            "cudaErrorNoDevice (no CUDA-capable device is detected) (the backend auto needs none)");
  return 0;
}

TEST(NcclProcesses, WithoutADeviceAreToldWhy) {
  run_processes("without_device", {.ranks = 2, .environment = {"FAKE_CUDA_DEVICES=0"}});
}

}  // namespace
}  // namespace bp::test
