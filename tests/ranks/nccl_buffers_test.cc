// Device memory from Communicator::allocate() where NCCL is used.
// docs/acceptance.md, Devices: Registered memory is used in place whenever it was allocated, and
// freed after a failure too.
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "bp/collective.h"
#include "comm/device/device_memory.h"
#include "tests/ranks/nccl_ranks.h"

namespace bp::test {
namespace {

View floats_of(const Buffer& buffer) {
  return {buffer.data(), buffer.bytes() / sizeof(float), DataType::f32, buffer.device()};
}

std::vector<float> values_of(const Buffer& buffer) {
  std::vector<float> values(buffer.bytes() / sizeof(float));
  memory_of(buffer.device()).read(view(values).data, buffer.data(), buffer.bytes());
  return values;
}

TEST(NcclBuffer, IsUsedInPlaceWheneverItWasAllocated) {
  const int in_place = nccl_calls("ncclAllReduce in place");
  const int freed = nccl_calls("ncclMemFree");
  run_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        const Buffer early = comm.allocate(400, test_device);  // before NCCL has started
        all_reduce(comm, floats_of(early));
        const Buffer late = comm.allocate(400, test_device);
        const std::vector<float> ones(100, 1);
        memory_of(test_device).write(late.data(), const_view(ones).data, late.bytes());
        all_reduce(comm, floats_of(late));
        EXPECT_EQ(values_of(early), std::vector<float>(100, 0));
        EXPECT_EQ(values_of(late), std::vector<float>(100, 2));
      },
      with_nccl());
  EXPECT_EQ(nccl_calls("ncclAllReduce in place"), in_place + 2 * 2);
  EXPECT_EQ(nccl_calls("ncclMemFree"), freed + 2 * 2);
}

// The fake would end the process at a call in the wrong order.
TEST(NcclBuffer, MayEndBeforeAndAfterItsCommunicator) {
  const int freed = nccl_calls("ncclMemFree");
  const int removed = nccl_calls("ncclCommDeregister");
  std::vector<std::optional<Buffer>> kept(2);
  run_ranks(
      2,
      [&](Communicator& comm) {
        take_own_device(comm);
        const auto rank = static_cast<std::size_t>(comm.rank());
        static_cast<void>(comm.allocate(4, test_device));  // never used
        {
          const Buffer buffer = comm.allocate(400, test_device);
          all_reduce(comm, floats_of(buffer));
        }
        kept[rank] = comm.allocate(400, test_device);
        all_reduce(comm, floats_of(*kept[rank]));
      },
      with_nccl());
  EXPECT_EQ(nccl_calls("ncclCommDeregister"), removed + 2 * 2);
  EXPECT_EQ(nccl_calls("ncclMemFree"), freed + 2 * 2);
  EXPECT_EQ(values_of(*kept[1]), std::vector<float>(100, 0));
  kept.clear();
  EXPECT_EQ(nccl_calls("ncclMemFree"), freed + 2 * 3);
}

TEST(NcclBuffer, IsFreedAfterAFailureToo) {
  const Variable fails("FAKE_NCCL_REMOTE_ERROR", "1:2");
  const int allocated = nccl_calls("ncclMemAlloc");
  const int freed = nccl_calls("ncclMemFree");
  static_cast<void>(try_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        const Buffer buffer = comm.allocate(400, test_device);
        for (int i = 0; i < 3; ++i) all_reduce(comm, floats_of(buffer));
      },
      with_nccl()));
  EXPECT_EQ(nccl_calls("ncclMemAlloc"), allocated + 2);
  EXPECT_EQ(nccl_calls("ncclMemFree"), freed + 2);
}

}  // namespace
}  // namespace bp::test
