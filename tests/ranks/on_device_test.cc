// Collectives on the memory of devices, with the fake CUDA runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/device_memory.h"
#include "tests/ranks/collectives.h"
#include "tests/ranks/operations.h"
#include "tests/ranks/program_stream.h"
#include "tests/support/fake_cuda/use.h"
#include "tests/support/refusal.h"
#include "tests/support/run_processes.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;

constexpr Device kGpu{Device::Kind::cuda, 0};

// Floats in the memory of the device.
class Floats {
 public:
  explicit Floats(const std::vector<float>& values)
      : count_(values.size()), memory_(memory_of(kGpu).allocate(count_ * sizeof(float))) {
    memory_of(kGpu).write(memory_.get(), const_view(values).data, count_ * sizeof(float));
  }
  [[nodiscard]] View view() const { return {memory_.get(), count_, DataType::f32, kGpu}; }
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> values(count_);
    memory_of(kGpu).read(bp::view(values).data, memory_.get(), count_ * sizeof(float));
    return values;
  }

 private:
  std::size_t count_;
  std::shared_ptr<std::byte> memory_;
};

class OnDevices : public testing::TestWithParam<std::tuple<int, Wire>> {
 protected:
  [[nodiscard]] static int ranks() { return std::get<0>(GetParam()); }
  [[nodiscard]] static RanksOptions options() { return {.wire = std::get<1>(GetParam())}; }
};
INSTANTIATE_TEST_SUITE_P(Ranks,
                         OnDevices,
                         testing::Combine(testing::Values(1, 2, 3),
                                          testing::Values(Wire::inproc, Wire::shm)));

// docs/acceptance.md, Devices: Every collective is exact on device memory.
TEST_P(OnDevices, EveryCollectiveIsExact) {
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        EXPECT_EQ(check_main_collectives(comm, 64), "");
        EXPECT_EQ(check_main_operations(comm, 64), "");
      },
      options());
}

// docs/acceptance.md, Devices: An operation on device memory begins after the work of its stream.
TEST_P(OnDevices, AnOperationBeginsAfterTheWorkOfItsStream) {
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        const ProgramStream stream;
        const Floats data(std::vector<float>(100, -1));
        stream.pause(30);
        stream.write(data.view(), std::vector<float>(100, 2));
        all_reduce(comm, data.view(), {.stream = stream.get()});
        EXPECT_THAT(data.values(), Each(2 * static_cast<float>(comm.size())));

        stream.pause(30);
        stream.write(data.view(), std::vector<float>(100, 3));
        Work work = all_reduce_async(comm, data.view(), {.stream = stream.get()});
        EXPECT_FALSE(work.done());
        work.wait();
        EXPECT_THAT(data.values(), Each(3 * static_cast<float>(comm.size())));
      },
      options());
}

// docs/acceptance.md, Devices: A stream that waits for an operation sees its result.
TEST_P(OnDevices, AStreamThatWaitsSeesTheResult) {
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        const ProgramStream stream;
        const Floats data(std::vector<float>(100, -1));
        stream.pause(30);
        stream.write(data.view(), std::vector<float>(100, 2));
        Work work = all_reduce_async(comm, data.view(), {.stream = stream.get()});
        work.wait(stream.get());
        stream.read(data.view());
        EXPECT_THAT(stream.finished(100), Each(2 * static_cast<float>(comm.size())));
      },
      options());
}

TEST_P(OnDevices, ScalesAndGroupsAreThoseOfHostMemory) {
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        const Floats data({1, 2, 3});
        all_reduce(comm, data.view(), {.op = ReduceOp::average, .prescale = 4, .postscale = 0.5});
        EXPECT_THAT(data.values(), testing::ElementsAre(2, 4, 6));
        const Floats small({1, 1});
        const Floats large(std::vector<float>(30'000, 1));
        all_reduce_grouped(comm, std::vector<View>{small.view(), large.view(), data.view()},
                           {.op = ReduceOp::max});
        EXPECT_THAT(small.values(), Each(1));
        EXPECT_THAT(large.values(), Each(1));
        EXPECT_THAT(data.values(), testing::ElementsAre(2, 4, 6));
      },
      options());
}

// A job may have hosts without a GPU.
// docs/acceptance.md, Disagreement and misuse: CPU memory on one rank and GPU memory on another
// work together where device memory goes through host memory.
TEST(SomeOnDevices, RanksWithHostMemoryTakePart) {
  for (const Wire wire : {Wire::inproc, Wire::shm}) {
    run_ranks(3,
              [](Communicator& comm) {
                std::vector<float> host(5000, 1);
                const Floats there(host);
                all_reduce(comm, comm.rank() == 1 ? view(host) : there.view());
                EXPECT_THAT(comm.rank() == 1 ? host : there.values(), Each(3));
              },
              {.wire = wire});
  }
}

TEST(OnDevice, BuffersLieThereAndHoldZeros) {
  run_ranks(2, [](Communicator& comm) {
    const Buffer buffer = comm.allocate(400, kGpu);
    EXPECT_EQ(buffer.device(), kGpu);
    std::vector<float> values(100, 1);
    memory_of(kGpu).read(view(values).data, buffer.data(), 400);
    EXPECT_THAT(values, Each(0));
    EXPECT_EQ(error_of([&] {
                static_cast<void>(comm.allocate(1, {Device::Kind::cuda, 1}));
              }),
              "unavailable: there is no cuda:1: this process sees 1 CUDA device");
  });
}

TEST(OnDevice, GroupsHaveItToo) {
  run_ranks(3, [](Communicator& comm) {
    Communicator group = comm.split(comm.rank() % 2);
    const Floats data({1});
    all_reduce(group, data.view());
    EXPECT_THAT(data.values(), Each(comm.rank() == 1 ? 1 : 2));
  });
}

// docs/acceptance.md, Devices: A stream that does not end is the failure of its rank.
TEST(OnDevice, AStreamThatDoesNotEndIsTheRanksFault) {
  const std::vector<std::string> errors =
      try_ranks(2,
                [](Communicator& comm) {
                  const ProgramStream stream;
                  const Floats data({1});
                  if (comm.rank() == 0) return all_reduce(comm, data.view());
                  stream.pause(1500);
                  all_reduce(comm, data.view(), {.timeout = 500ms, .stream = stream.get()});
                },
                {.wire = Wire::inproc});
  EXPECT_EQ(errors[1],
            "timeout: rank 1 waited 500 ms in all_reduce sum of 1 f32 for the work that its stream "
            "on cuda:0 had before");
  EXPECT_THAT(errors[0], HasSubstr("rank 1 waited 500 ms in all_reduce"));
}

TEST(OnDevice, ALoneRankHasTheSameDeadline) {
  const std::vector<std::string> errors = try_ranks(1, [](Communicator& comm) {
    const ProgramStream stream;
    const Floats data({1});
    stream.pause(400);
    all_reduce(comm, data.view(), {.timeout = 100ms, .stream = stream.get()});
  });
  EXPECT_THAT(errors[0], HasSubstr("timeout: rank 0 waited 100 ms in all_reduce"));
}

RANK_BODY(failing_device) {
  Communicator world = Communicator::create();
  if (world.rank() == 1) ::setenv("FAKE_CUDA_FAIL", "cudaMemcpyAsync:2:700", 1);
  const Floats data(std::vector<float>(100, 1));
  all_reduce(world, data.view());
  return 0;
}

// docs/acceptance.md, Devices: All ranks learn of a device that fails.
TEST(OnDevice, AFailureOfOneDeviceIsToldToAllRanks) {
  const auto results = try_processes("failing_device", {.ranks = 3});
  for (const ProcessResult& result : results) {
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.output, HasSubstr("rank 1 failed in all_reduce sum of 100 f32: "
                                         "cudaMemcpyAsync on cuda:0 failed: cudaErrorUnknown"));
    EXPECT_LT(result.ended_after, 10s);
  }
}

RANK_BODY(device_collectives) {
  Communicator world = Communicator::create();
  EXPECT_EQ(check_main_collectives(world, 4096), "");
  EXPECT_EQ(check_main_operations(world, 4096), "");
  world.finish();
  return 0;
}

// docs/acceptance.md, Devices: Every collective is exact on device memory in processes on uneven
// hosts.
TEST(OnDevice, EveryCollectiveIsExactInProcessesOfUnevenHosts) {
  run_processes("device_collectives", {.ranks = 3, .local_sizes = {2, 1}});
}

RANK_BODY(no_device) {
  Communicator world = Communicator::create();
  std::vector<float> data(4);
  View there = view(data);
  there.device = kGpu;
  EXPECT_EQ(error_of([&] { all_reduce(world, there); }),
            "invalid_argument: all_reduce: data lies on cuda:0, but CUDA finds no device: "
            "cudaErrorNoDevice (no CUDA-capable device is detected)");
  all_reduce(world, view(data));
  world.finish();
  return 0;
}

// docs/acceptance.md, Devices: Without a device or its library the error says why.
TEST(OnDevice, WithoutADeviceTheReasonIsTold) {
  run_processes("no_device", {.ranks = 2, .environment = {"FAKE_CUDA_DEVICES=0"}});
}

}  // namespace
}  // namespace bp::test
