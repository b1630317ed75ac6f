// What code that serves every kind of device does with memory, on the host.
#include "comm/device/device_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "bp/error.h"
#include "comm/device/scratch.h"
#include "comm/reduce/finite.h"
#include "comm/reduce/halves.h"

namespace bp {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(DeviceMemory, IsAlignedAndLivesAsLongAsItsPointer) {
  std::vector<std::shared_ptr<std::byte>> kept;
  for (const std::size_t bytes : {0, 1, 63, 64, 5000}) {
    kept.push_back(host_memory().allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept.back().get()) % 64, 0U);
    host_memory().fill(kept.back().get(), std::byte{7}, bytes);
  }
  EXPECT_THAT(std::vector(kept.back().get(), kept.back().get() + 5000), Each(std::byte{7}));
}

TEST(DeviceMemory, CopiesAreWhole) {
  const std::array<float, 5> from = {1, 2, 3, 4, 5};
  const auto there = host_memory().allocate(sizeof(from));
  std::array<float, 5> copied{};
  std::array<float, 5> back{};
  host_memory().write(there.get(), std::as_bytes(std::span(from)).data(), sizeof(from));
  host_memory().copy(view(copied).data, there.get(), sizeof(from));
  host_memory().read(view(back).data, there.get(), sizeof(from));
  EXPECT_EQ(copied, from);
  EXPECT_EQ(back, from);
}

TEST(DeviceMemory, ScalesDividesAndConverts) {
  std::vector<std::complex<float>> data = {{1, -2}, {3, 4}};
  host_memory().scale(view(data), 2);
  EXPECT_THAT(data, ElementsAre(std::complex<float>(2, -4), std::complex<float>(6, 8)));
  host_memory().finish_average(view(data), 4);
  EXPECT_THAT(data, ElementsAre(std::complex<float>(0.5, -1), std::complex<float>(1.5, 2)));
  const std::vector<float> wide = {1.5F, -3.0F, 1 + 0x1p-10F};
  std::vector<BFloat16> narrow(3);
  std::vector<float> again(3);
  host_memory().convert(view(narrow), const_view(wide));
  host_memory().convert(view(again), const_view(narrow));
  EXPECT_THAT(again, ElementsAre(1.5F, -3.0F, 1.0F));
}

TEST(DeviceMemory, OfADeviceThatIsNotThereIsRefused) {
  EXPECT_EQ(&memory_of({}), &host_memory());
  ::setenv("BP_CUDA_RUNTIME", "/nowhere/libcudart.so", 1);
  try {
    static_cast<void>(memory_of({Device::Kind::cuda, 2}));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_THAT(error.what(), ::testing::StartsWith("BP_CUDA_RUNTIME names no library that loads: "
                                                    "/nowhere/libcudart.so: cannot open"));
  }
}

TEST(ScratchMemory, IsKeptUntilMoreIsAskedFor) {
  ScratchMemory scratch;
  EXPECT_TRUE(scratch.at_least(0).empty());
  const std::span<std::byte> first = scratch.at_least(100);
  EXPECT_EQ(first.size(), 100U);
  EXPECT_EQ(scratch.at_least(50).data(), first.data());
  EXPECT_EQ(scratch.at_least(50).size(), 50U);
  EXPECT_EQ(scratch.at_least(1000).size(), 1000U);
  EXPECT_THROW(static_cast<void>(scratch.at_least(1, {Device::Kind::cuda, 0})), Error);
  EXPECT_EQ(scratch.at_least(1000).size(), 1000U);  // and is usable after that
}

template <class T>
const std::byte* bytes_of(const std::vector<T>& elements) {
  return const_view(elements).data;
}

TEST(AllFinite, SeesOneInfinityOrNaNAnywhere) {
  for (const float odd : {std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (const std::size_t at : {0U, 33U, 66U}) {
      std::vector<float> x(67, std::numeric_limits<float>::max());
      std::vector<double> wide(67, std::numeric_limits<double>::max());
      std::vector<Float16> halves(67, Float16{0x7bff});
      std::vector<BFloat16> brains(67, BFloat16{0x7f7f});
      EXPECT_TRUE(all_finite(DataType::f32, bytes_of(x), 67));
      EXPECT_TRUE(all_finite(DataType::f64, bytes_of(wide), 67));
      EXPECT_TRUE(all_finite(DataType::f16, bytes_of(halves), 67));
      EXPECT_TRUE(all_finite(DataType::bf16, bytes_of(brains), 67));
      x[at] = odd;
      wide[at] = double{odd};
      halves[at] = to_float16(odd);
      brains[at] = to_bfloat16(odd);
      EXPECT_FALSE(all_finite(DataType::f32, bytes_of(x), 67));
      EXPECT_FALSE(all_finite(DataType::f64, bytes_of(wide), 67));
      EXPECT_FALSE(all_finite(DataType::f16, bytes_of(halves), 67));
      EXPECT_FALSE(all_finite(DataType::bf16, bytes_of(brains), 67));
    }
  }
}

// A part of a complex number alone makes it infinite; integers of any bits are finite.
TEST(AllFinite, LooksAtBothPartsAndAtNoInteger) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(host_memory().is_finite(const_view(std::vector<std::complex<float>>{{1, 2}})));
  for (const std::complex<float> odd : {std::complex(infinity, 0.0F), {0.0F, infinity}}) {
    EXPECT_FALSE(host_memory().is_finite(const_view(std::vector{std::complex(1.0F), odd})));
  }
  for (const DataType type : kDataTypes) {
    if (class_of(type) != TypeClass::integer) continue;
    const std::vector<std::byte> ones(size_of(type) * 9, std::byte{0xff});
    EXPECT_TRUE(all_finite(type, ones.data(), 9)) << name_of(type);
  }
}

}  // namespace
}  // namespace bp
