// The fake CUDA runtime must catch what a real device would punish: it is what shows that code for
// devices is right where there is no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "bp/error.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/device_memory.h"
#include "comm/reduce/halves.h"
#include "tests/support/fake_cuda/use.h"
#include "tests/support/fake_cuda/visible.h"

namespace bp::test {
namespace {

using testing::Each;
using testing::ElementsAre;

const CudaRuntime& cuda() { return cuda_runtime(); }
const Memory& gpu() { return memory_of({Device::Kind::cuda, 0}); }

void* stream() {
  void* made = nullptr;
  EXPECT_EQ(cuda().create_stream(&made, CudaRuntime::kStreamApart), CudaRuntime::kSuccess);
  return made;
}
std::byte* device_memory(std::size_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(cuda().allocate(&memory, bytes), CudaRuntime::kSuccess);
  return static_cast<std::byte*>(memory);
}
void copy(std::byte* to, const std::byte* from, std::size_t bytes, void* on) {
  EXPECT_EQ(cuda().copy(to, from, bytes, CudaRuntime::kAnyDirection, on), CudaRuntime::kSuccess);
}

// A sanitizer would take the signal for a bug, and report it.
void die_by_signal() { std::signal(SIGSEGV, SIG_DFL); }

// A death test starts this program anew, because the fake's threads do not survive a fork.
class FakeCuda : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

// docs/acceptance.md, Devices: The fake CUDA runtime catches an access of the host to device
// memory.
TEST_F(FakeCuda, AnAccessOfTheHostToDeviceMemoryIsASegmentationFault) {
  std::byte* const memory = device_memory(64);
  const auto write = [&] {
    die_by_signal();
    memory[3] = std::byte{1};
    std::exit(0);
  };
  const auto read = [&] {
    die_by_signal();
    const volatile std::byte* const there = memory;
    static_cast<void>(*there);
    std::exit(0);
  };
  EXPECT_EXIT(write(), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(read(), testing::KilledBySignal(SIGSEGV), "");
}

// docs/acceptance.md, Devices: The fake CUDA runtime catches a race of two streams.
TEST_F(FakeCuda, WorkOfTwoStreamsOnTheSameMemoryIsARace) {
  const auto race = [](bool write_both) {
    std::byte* const memory = device_memory(64);
    std::byte* const other = device_memory(64);
    void* const first = stream();
    void* const second = stream();
    copy(memory, other, 64, first);
    write_both ? copy(memory + 32, other, 32, second) : copy(other + 8, memory + 60, 4, second);
    static_cast<void>(cuda().finish_stream(first));
    static_cast<void>(cuda().finish_stream(second));
  };
  EXPECT_DEATH(race(true),
               "fake CUDA: a race: a copy that writes on stream [0-9]+ and a copy that");
  EXPECT_DEATH(race(false), "fake CUDA: a race");
}

TEST_F(FakeCuda, WorkThatTheHostOrdersIsNoRace) {
  std::byte* const memory = device_memory(64);
  void* const first = stream();
  void* const second = stream();
  for (int turn = 0; turn < 10; ++turn) {
    EXPECT_EQ(cuda().fill(memory, turn, 64, first), CudaRuntime::kSuccess);
    EXPECT_EQ(cuda().finish_stream(first), CudaRuntime::kSuccess);
    EXPECT_EQ(cuda().fill(memory, turn + 1, 32, second), CudaRuntime::kSuccess);
    void* event = nullptr;
    EXPECT_EQ(cuda().create_event(&event, CudaRuntime::kEventUntimed), CudaRuntime::kSuccess);
    EXPECT_EQ(cuda().record_event(event, second), CudaRuntime::kSuccess);
    while (cuda().query_event(event) == CudaRuntime::kNotReady) {
    }
    EXPECT_EQ(cuda().destroy_event(event), CudaRuntime::kSuccess);
  }
  std::array<std::byte, 64> host{};
  gpu().read(host.data(), memory, 64);
  EXPECT_EQ(host[31], std::byte{10});
  EXPECT_EQ(host[32], std::byte{9});
}

TEST_F(FakeCuda, EachDeviceHasADefaultStreamOfItsOwn) {
  const auto race = [] {
    ::setenv("FAKE_CUDA_DEVICES", "2", 1);
    std::byte* const memory = device_memory(64);
    for (const int device : {0, 1}) {
      static_cast<void>(cuda().set_device(device));
      static_cast<void>(cuda().fill(memory, device, 64, nullptr));
    }
    for (const int device : {0, 1}) {
      static_cast<void>(cuda().set_device(device));
      static_cast<void>(cuda().finish_stream(nullptr));
    }
  };
  EXPECT_DEATH(race(), "fake CUDA: a race: a fill on stream [0-9]+ and a fill on stream");
}

TEST_F(FakeCuda, AnEventSeesOnlyWorkBeforeIt) {
  void* const on = stream();
  void* event = nullptr;
  EXPECT_EQ(cuda().create_event(&event, CudaRuntime::kEventUntimed), CudaRuntime::kSuccess);
  EXPECT_EQ(cuda().query_event(event), CudaRuntime::kSuccess);  // as the real one
  pause_stream(on, 100);
  EXPECT_EQ(cuda().record_event(event, on), CudaRuntime::kSuccess);
  EXPECT_EQ(cuda().query_event(event), CudaRuntime::kNotReady);
  EXPECT_EQ(cuda().finish_stream(on), CudaRuntime::kSuccess);
  EXPECT_EQ(cuda().query_event(event), CudaRuntime::kSuccess);
  EXPECT_EQ(cuda().destroy_event(event), CudaRuntime::kSuccess);
}

// docs/acceptance.md, Devices: The fake CUDA runtime refuses a range beyond an allocation.
TEST_F(FakeCuda, ARangeBeyondAnAllocationIsRefused) {
  std::byte* const memory = device_memory(64);
  EXPECT_EQ(cuda().fill(memory + 60, 0, 5, nullptr), 1);
  EXPECT_EQ(cuda().free(memory + 1), 1);
  EXPECT_EQ(cuda().free(memory), CudaRuntime::kSuccess);
  EXPECT_EQ(cuda().free(memory), 1);
}

// The rest is bp's own memory of a device.
TEST(CudaMemory, DoesWhatHostMemoryDoes) {
  const std::vector<float> from = {1.5F, -3.0F, 1 + 0x1p-10F, 8};
  const std::size_t bytes = from.size() * sizeof(float);
  const auto there = gpu().allocate(bytes);
  const auto also = gpu().allocate(bytes);
  gpu().write(there.get(), const_view(from).data, bytes);
  gpu().copy(also.get(), there.get(), bytes);
  const Device device{Device::Kind::cuda, 0};
  const View view_there{also.get(), from.size(), DataType::f32, device};
  gpu().scale(view_there, 2);
  gpu().finish_average(view_there, 4);
  std::vector<float> back(4);
  gpu().read(view(back).data, also.get(), bytes);
  EXPECT_THAT(back, ElementsAre(0.75F, -1.5F, (1 + 0x1p-10F) / 2, 4.0F));
  EXPECT_TRUE(gpu().is_finite(view_there));

  const View narrow{also.get(), from.size(), DataType::bf16, device};
  gpu().convert(narrow, {there.get(), from.size(), DataType::f32, device});
  std::vector<BFloat16> halves(4);
  gpu().read(view(halves).data, also.get(), 8);
  EXPECT_EQ(to_float(halves[2]), 1.0F);
  gpu().fill(also.get(), std::byte{0xFF}, 2);  // a NaN of bf16
  EXPECT_FALSE(gpu().is_finite({also.get(), 1, DataType::bf16, device}));
}

TEST(FakeCudaDevices, AreThoseThatAVariableLists) {
  ::setenv("FAKE_CUDA_DEVICES", "4", 1);
  EXPECT_THAT(fake_cuda::visible_devices(), ElementsAre(0, 1, 2, 3));
  ::setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
  EXPECT_THAT(fake_cuda::visible_devices(), ElementsAre(3, 1));
  ::setenv("CUDA_VISIBLE_DEVICES", "2,4,0", 1);
  EXPECT_THAT(fake_cuda::visible_devices(), ElementsAre(2));
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_TRUE(fake_cuda::visible_devices().empty());
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::unsetenv("FAKE_CUDA_DEVICES");
  EXPECT_THAT(fake_cuda::visible_devices(), ElementsAre(0));
}

TEST(CudaMemory, AMomentIsReachedAfterTheWorkBefore) {
  void* const on = stream();
  pause_stream(on, 50);
  const auto moment = gpu().record(on);
  EXPECT_FALSE(moment->reached());
  EXPECT_EQ(cuda().finish_stream(on), CudaRuntime::kSuccess);
  EXPECT_TRUE(moment->reached());
  EXPECT_EQ(host_memory().record(nullptr), nullptr);
}

TEST(CudaMemory, ADeviceThatDoesNotExistIsNamed) {
  for (const int index : {-1, 1}) {
    try {
      static_cast<void>(memory_of({Device::Kind::cuda, index}));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unavailable);
      EXPECT_EQ(std::string(error.what()),
                "there is no cuda:" + std::to_string(index) + ": this process sees 1 CUDA device");
    }
  }
}

}  // namespace
}  // namespace bp::test
