// The fake NCCL ends the process of a program that breaks a rule of NCCL.
// docs/acceptance.md, Devices: The fake NCCL ends a program that breaks NCCL's rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "comm/device/cuda_runtime.h"
#include "comm/device/device_memory.h"
#include "comm/device/nccl_api.h"
#include "tests/support/fake_cuda/use.h"
#include "tests/support/fake_nccl/use.h"

namespace bp::test {
namespace {

const int kHasDevices = ::setenv("FAKE_CUDA_DEVICES", "4", 0);  // as the rest of this program

// One rank, used as bp does not use it.
class Rank {
 public:
  Rank(const NcclApi::UniqueId& id, int ranks, int rank, int device) {
    static_cast<void>(cuda_runtime().set_device(device));
    NcclApi::Config config;
    config.blocking = 0;
    EXPECT_EQ(nccl_api().init(&handle, ranks, id, rank, &config), NcclApi::kInProgress);
    memory = memory_of({Device::Kind::cuda, device}).allocate(16);
    EXPECT_EQ(cuda_runtime().create_stream(&stream, CudaRuntime::kStreamApart), 0);
  }
  void look() const {
    NcclApi::Code state = NcclApi::kInProgress;
    while (state == NcclApi::kInProgress) {
      EXPECT_EQ(nccl_api().async_error(handle, &state), NcclApi::kSuccess);
    }
  }
  void sum(std::size_t count) const {
    void* const data = memory.get();
    static_cast<void>(
        nccl_api().all_reduce(data, data, count, NcclApi::f32, NcclApi::sum, handle, stream));
  }
  void finish() const { static_cast<void>(cuda_runtime().finish_stream(stream)); }

  NcclApi::Communicator handle = nullptr;
  std::shared_ptr<std::byte> memory;
  CudaRuntime::Stream stream = nullptr;
};

NcclApi::UniqueId new_id() {
  NcclApi::UniqueId id;
  EXPECT_EQ(nccl_api().unique_id(&id), NcclApi::kSuccess);
  return id;
}

void run_two(const std::vector<int>& devices, const std::vector<std::size_t>& counts) {
  const NcclApi::UniqueId id = new_id();
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r, at = static_cast<std::size_t>(r)] {
      const Rank rank(id, 2, r, devices[at]);
      rank.look();
      rank.sum(counts[at]);
      rank.finish();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FakeNccl, RanksThatKeepTheRulesGetTheirSum) {
  ASSERT_EQ(kHasDevices, 0);
  run_two({0, 1}, {3, 3});
}

TEST(FakeNcclDeathTest, RanksThatCallDifferentOperationsEnd) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(run_two({0, 1}, {3, 2}), "fake NCCL: ncclAllReduce of [23], .* meets");
}

TEST(FakeNcclDeathTest, RanksOnOneDeviceEnd) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(run_two({1, 1}, {3, 3}), "fake NCCL: two ranks use one device");
}

TEST(FakeNcclDeathTest, AnOperationBeforeTheStartEnds) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(Rank(new_id(), 1, 0, 0).sum(1), "fake NCCL: ncclAllReduce before the one before it");
}

void use_after_abort() {
  const Rank rank(new_id(), 1, 0, 0);
  rank.look();
  static_cast<void>(nccl_api().abort(rank.handle));
  rank.sum(1);
}

TEST(FakeNcclDeathTest, AnOperationAfterAnAbortEnds) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(use_after_abort(), "fake NCCL: ncclAllReduce after the communicator's end");
}

NcclApi::Reduction half_of_sum(const Rank& rank) {
  rank.look();
  float half = 0.5F;
  NcclApi::Reduction made = NcclApi::sum;
  EXPECT_EQ(
      nccl_api().create_scaled_sum(&made, &half, NcclApi::f32, NcclApi::kScalarOnHost, rank.handle),
      NcclApi::kSuccess);
  return made;
}

void sum_by(NcclApi::Reduction reduction, NcclApi::Type type, const Rank& rank) {
  void* const data = rank.memory.get();
  static_cast<void>(
      nccl_api().all_reduce(data, data, 1, type, reduction, rank.handle, rank.stream));
}

TEST(FakeNccl, AScaledSumMultipliesFirst) {
  const Rank rank(new_id(), 1, 0, 0);
  const NcclApi::Reduction half = half_of_sum(rank);
  float value = 3;
  const Memory& memory = memory_of({Device::Kind::cuda, 0});
  memory.write(rank.memory.get(), reinterpret_cast<std::byte*>(&value), sizeof value);
  sum_by(half, NcclApi::f32, rank);
  rank.finish();
  memory.read(reinterpret_cast<std::byte*>(&value), rank.memory.get(), sizeof value);
  EXPECT_EQ(value, 1.5F);
  EXPECT_EQ(nccl_api().destroy_reduction(half, rank.handle), NcclApi::kSuccess);
}

void use_after_destruction() {
  const Rank rank(new_id(), 1, 0, 0);
  const NcclApi::Reduction half = half_of_sum(rank);
  static_cast<void>(nccl_api().destroy_reduction(half, rank.handle));
  sum_by(half, NcclApi::f32, rank);
}

void use_with_another_type() {
  const Rank rank(new_id(), 1, 0, 0);
  sum_by(half_of_sum(rank), NcclApi::f64, rank);
}

void destroy_before_the_operation_began() {
  ::setenv("FAKE_NCCL_IN_PROGRESS", "3", 1);
  const Rank rank(new_id(), 1, 0, 0);
  const NcclApi::Reduction half = half_of_sum(rank);
  sum_by(half, NcclApi::f32, rank);
  static_cast<void>(nccl_api().destroy_reduction(half, rank.handle));
}

TEST(FakeNcclDeathTest, AScaledSumThatIsMisusedEnds) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(use_after_destruction(), "fake NCCL: ncclAllReduce by no reduction");
  EXPECT_DEATH(use_with_another_type(), "fake NCCL: ncclAllReduce by a scalar of another type");
  EXPECT_DEATH(destroy_before_the_operation_began(),
               "fake NCCL: ncclRedOpDestroy before the operation that uses it began");
}

void free_what_is_registered() {
  const Rank rank(new_id(), 1, 0, 0);
  rank.look();
  void* memory = nullptr;
  void* handle = nullptr;
  static_cast<void>(nccl_api().allocate(&memory, 8));
  static_cast<void>(nccl_api().add_buffer(rank.handle, memory, 8, &handle));
  static_cast<void>(nccl_api().free(memory));
}

void end_with_registered_memory() {
  const Rank rank(new_id(), 1, 0, 0);
  rank.look();
  void* handle = nullptr;
  static_cast<void>(nccl_api().add_buffer(rank.handle, rank.memory.get(), 8, &handle));
  static_cast<void>(nccl_api().finalize(rank.handle));
}

TEST(FakeNcclDeathTest, RegisteredMemoryThatIsMisusedEnds) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(free_what_is_registered(), "fake NCCL: ncclMemFree of registered memory");
  EXPECT_DEATH(end_with_registered_memory(),
               "fake NCCL: ncclCommFinalize before ncclCommDeregister");
}

}  // namespace
}  // namespace bp::test
