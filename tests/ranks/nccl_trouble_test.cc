// How collectives by NCCL fail: by its errors, at deadlines, and when ranks fail or disagree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "bp/collective.h"
#include "tests/ranks/nccl_ranks.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;

// docs/acceptance.md, Devices: An error of NCCL aborts all ranks.
TEST(NcclTrouble, ARemoteErrorAbortsAllRanks) {
  const Variable fails("FAKE_NCCL_REMOTE_ERROR", "1:3");
  const int aborted = nccl_calls("ncclCommAbort");
  const auto errors = try_ranks(
      3,
      [](Communicator& comm) {
        take_own_device(comm);
        const Floats data({1});
        for (int i = 0; i < 4; ++i) all_reduce(comm, data.view());
      },
      with_nccl());
  for (const std::string& error : errors) {
    EXPECT_THAT(error, testing::StartsWith("peer_lost: "));
    EXPECT_THAT(error, HasSubstr("rank 1 lost another rank in all_reduce sum of 1 f32: NCCL on "
                                 "cuda:1 failed: remote process exited or there was a network "
                                 "error"));
  }
  EXPECT_EQ(nccl_calls("ncclCommAbort"), aborted + 3);
}

// docs/acceptance.md, Devices: An operation of NCCL that never ends is aborted at its deadline.
TEST(NcclTrouble, AnOperationThatDoesNotEndIsAbortedAtItsDeadline) {
  for (const int ranks : {1, 2}) {
    const Variable endless("FAKE_NCCL_ENDLESS", "0:2");
    const int aborted = nccl_calls("ncclCommAbort");
    const auto errors = try_ranks(
        ranks,
        [](Communicator& comm) {
          take_own_device(comm);
          const Floats data({1});
          all_reduce(comm, data.view());
          all_reduce(comm, data.view(), {.timeout = 300ms});
        },
        with_nccl());
    for (const std::string& error : errors) {
      EXPECT_THAT(error, testing::StartsWith("timeout: rank "));
      EXPECT_THAT(error, HasSubstr(" waited 300 ms for "));
    }
    EXPECT_EQ(nccl_calls("ncclCommAbort"), aborted + ranks);
  }
}

// NCCL's orderly end would wait a second for the rank that has failed.
// docs/acceptance.md, Devices: The ranks do not wait in NCCL for a rank that was killed.
TEST(NcclTrouble, AFailureBetweenOperationsAbortsAllRanks) {
  const int aborted = nccl_calls("ncclCommAbort");
  const int ended = nccl_calls("ncclCommFinalize");
  const auto errors = try_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        const Floats data({1});
        all_reduce(comm, data.view());
        if (comm.rank() == 1) return comm.abort("rank 1 gives up");
        for (;;) all_reduce(comm, data.view());
      },
      with_nccl());
  EXPECT_THAT(errors[0], HasSubstr("rank 1 gives up"));
  EXPECT_EQ(nccl_calls("ncclCommAbort"), aborted + 2);
  EXPECT_EQ(nccl_calls("ncclCommFinalize"), ended);
}

// docs/acceptance.md, Devices: Ranks that disagree get the usual error before NCCL is called.
TEST(NcclTrouble, DifferentOperationsDoNotMeet) {
  const auto errors = try_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        const Floats data({1, 2});
        all_reduce(comm, data.view());
        if (comm.rank() == 0) return all_reduce(comm, data.view());
        broadcast(comm, data.view());
      },
      with_nccl());
  EXPECT_THAT(errors, Each("mismatch: ranks disagree on collective 1 of world: rank 0 asked for "
                           "all_reduce sum of 2 f32 by nccl; rank 1 for broadcast of 2 f32 from "
                           "rank 0 by nccl (every rank must ask for the same collectives in the "
                           "same order)"));
}

// docs/acceptance.md, Disagreement and misuse: CPU memory on one rank and GPU memory on another is
// an error where NCCL is used.
TEST(NcclTrouble, HostMemoryAndThatOfADeviceDoNotMeet) {
  const auto errors = try_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        std::vector<float> host(1);
        const Floats there(host);
        all_reduce(comm, comm.rank() == 0 ? view(host) : there.view());
      },
      with_nccl());
  EXPECT_THAT(errors, Each(HasSubstr("rank 0 asked for all_reduce sum of 1 f32; rank 1 for "
                                     "all_reduce sum of 1 f32 by nccl")));
}

// docs/acceptance.md, Devices: A second device of one rank is refused.
TEST(NcclTrouble, ASecondDeviceOfARankIsRefused) {
  const auto errors = try_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        all_reduce(comm, Floats({1}).view());
        test_device.index = 2;
        all_reduce(comm, Floats({1}).view());
      },
      with_nccl());
  EXPECT_THAT(errors, Each(HasSubstr("and the data lie on cuda:2; a rank uses one device in a "
                                     "communicator")));
}

}  // namespace
}  // namespace bp::test
