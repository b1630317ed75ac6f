// The kernels for CUDA devices compute what the host computes, bit for bit. They are compiled for
// the host here, from the source that nvcc compiles, and run on the fake CUDA runtime.
// docs/acceptance.md, Devices: The code for devices, compiled for the host, computes what the host
// computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/device_memory.h"
#include "comm/device/open_cuda_kernels.h"
#include "tests/support/cuda_kernels_on_host/use.h"
#include "tests/support/fake_cuda/use.h"

namespace bp::test {
namespace {

constexpr Device kGpu{Device::Kind::cuda, 0};

const Memory& gpu() { return memory_of(kGpu); }

// Every bit pattern of the halves, and bytes that make up numbers of all kinds in other types:
// small ones, large ones, infinities and NaNs.
std::vector<std::byte> elements_of(DataType type) {
  std::vector<std::byte> bytes(std::size_t{8} << 16);
  if (size_of(type) <= 2) {
    std::vector<std::uint16_t> all(bytes.size() / 2);
    std::iota(all.begin(), all.end(), std::uint16_t{0});
    std::memcpy(bytes.data(), all.data(), bytes.size());
    return bytes;
  }
  std::uint64_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(state >> 56U);
  }
  const std::vector<float> special = {0.F,
                                      -0.F,
                                      1.F,
                                      -1.F,
                                      65504.F,
                                      65520.F,
                                      1e-8F,
                                      3e38F,
                                      std::numeric_limits<float>::infinity(),
                                      std::numeric_limits<float>::quiet_NaN()};
  std::memcpy(bytes.data(), special.data(), special.size() * sizeof(float));
  return bytes;
}

// Replaces each NaN of f32 and f64 by one of them, because its payload differs.
std::vector<std::byte> without_payloads(std::vector<std::byte> bytes, DataType type) {
  const auto replace = [&]<class T>(T nan) {
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, &bytes[at], sizeof(T));
      if (value != value) std::memcpy(&bytes[at], &nan, sizeof(T));
    }
  };
  if (type == DataType::f32 || type == DataType::c64) {
    replace(std::numeric_limits<float>::quiet_NaN());
  } else if (type == DataType::f64) {
    replace(std::numeric_limits<double>::quiet_NaN());
  }
  return bytes;
}

// A copy of `bytes` on the device, `shift` bytes from an aligned address.
class Copy {
 public:
  explicit Copy(const std::vector<std::byte>& bytes, std::size_t shift = 0)
      : size_(bytes.size()), shift_(shift), memory_(gpu().allocate(size_ + shift)) {
    gpu().write(data(), bytes.data(), size_);
  }
  [[nodiscard]] std::byte* data() const { return memory_.get() + shift_; }
  [[nodiscard]] View view(DataType type) const {
    return {data(), size_ / size_of(type), type, kGpu};
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::vector<std::byte> back(size_);
    gpu().read(back.data(), data(), size_);
    return back;
  }

 private:
  std::size_t size_;
  std::size_t shift_;
  std::shared_ptr<std::byte> memory_;
};

class CudaKernelsOf : public testing::TestWithParam<std::tuple<DataType, std::size_t>> {
 protected:
  const DataType type_ = std::get<0>(GetParam());
  const std::size_t shift_ = std::get<1>(GetParam());  // 1: no address is aligned

  // Applies `change` to memory of the host and of the device.
  template <class Change>
  void expect_equal(const Change& change) const {
    std::vector<std::byte> host = elements_of(type_);
    const Copy device(host, shift_);
    change(host_memory(), View{host.data(), host.size() / size_of(type_), type_});
    change(gpu(), device.view(type_));
    EXPECT_TRUE(without_payloads(host, type_) == without_payloads(device.bytes(), type_));
  }
};

TEST_P(CudaKernelsOf, ScaleAsTheHostDoes) {
  for (const double factor : {0.5, -3.7, 0.0, 1e-3, 1e30, 1.0 / 3}) {
    SCOPED_TRACE(factor);
    expect_equal([&](const Memory& memory, const View& data) { memory.scale(data, factor); });
  }
}

TEST_P(CudaKernelsOf, DivideAsTheHostDoes) {
  if (!can_reduce(ReduceOp::average, type_)) return;
  for (const int ranks : {1, 2, 3, 7, 1000}) {
    SCOPED_TRACE(ranks);
    expect_equal(
        [&](const Memory& memory, const View& data) { memory.finish_average(data, ranks); });
  }
}

TEST_P(CudaKernelsOf, FindAnElementThatIsNotFinite) {
  const std::size_t count = 1000;
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{417}, count - 1, count}) {
    std::vector<std::byte> host(count * size_of(type_));
    if (wrong < count) {
      std::memset(&host[wrong * size_of(type_)], 0xff, size_of(type_));  // a NaN, or an integer
    }
    const bool expected = host_memory().is_finite({host.data(), count, type_});
    const Copy device(host, shift_);
    EXPECT_EQ(gpu().is_finite(device.view(type_)), expected) << wrong;
  }
}

TEST_P(CudaKernelsOf, PackAndUnpackPieces) {
  std::vector<Copy> pieces;
  std::vector<View> views;
  std::vector<std::byte> all;
  const std::vector<std::byte> source = elements_of(type_);
  for (std::size_t p = 0; p < 2 * CudaKernels::kMostPieces + 3; ++p) {
    const std::size_t bytes = (p * 7 % 13) * size_of(type_);  // some have no element
    const std::vector<std::byte> part(source.begin() + static_cast<std::ptrdiff_t>(8 * p),
                                      source.begin() + static_cast<std::ptrdiff_t>(8 * p + bytes));
    pieces.emplace_back(part, shift_);
    all.insert(all.end(), part.begin(), part.end());
  }
  for (const Copy& piece : pieces) views.push_back(piece.view(type_));
  const Copy packed(std::vector<std::byte>(all.size()), shift_);
  gpu().pack(packed.view(type_), views);
  EXPECT_TRUE(packed.bytes() == all);
  for (const View& view : views) gpu().fill(view.data, std::byte{0}, view.bytes());
  gpu().unpack(packed.view(type_), views);
  std::vector<std::byte> back;
  for (const Copy& piece : pieces) {
    const std::vector<std::byte> bytes = piece.bytes();
    back.insert(back.end(), bytes.begin(), bytes.end());
  }
  EXPECT_TRUE(back == all);
}

INSTANTIATE_TEST_SUITE_P(Types,
                         CudaKernelsOf,
                         testing::Combine(testing::ValuesIn(kDataTypes),
                                          testing::Values(std::size_t{0}, std::size_t{1})),
                         [](const auto& test) {
                           return concat(name_of(std::get<0>(test.param)),
                                         std::get<1>(test.param) == 0 ? "" : "_unaligned");
                         });

TEST(CudaKernels, ConvertAsTheHostDoes) {
  for (const DataType half : {DataType::f16, DataType::bf16}) {
    for (const bool narrows : {true, false}) {
      const DataType from = narrows ? DataType::f32 : half;
      const DataType to = narrows ? half : DataType::f32;
      std::vector<std::byte> given = elements_of(from);
      const std::size_t count = given.size() / size_of(from);
      std::vector<std::byte> host(count * size_of(to));
      host_memory().convert({host.data(), count, to}, {given.data(), count, from});
      const Copy source(given);
      const Copy result(host);
      gpu().fill(result.data(), std::byte{0}, host.size());
      gpu().convert(result.view(to), source.view(from));
      EXPECT_TRUE(result.bytes() == host) << name_of(half);
      if (!narrows) continue;  // a narrower result may lie where its source lies
      gpu().convert({source.data(), count, to, kGpu}, source.view(from));
      std::vector<std::byte> begin = source.bytes();
      begin.resize(host.size());
      EXPECT_TRUE(begin == host) << name_of(half);
    }
  }
}

// Else these tests would compare the host with itself.
// The stream is held back, so what was computed by then was waited for.
TEST(CudaKernels, AreAddedToAStreamAndNotWaitedFor) {
  const auto on_stream = gpu().on_own_stream();
  std::vector<float> host(100, 3);
  const auto bytes = std::as_writable_bytes(std::span(host));
  const auto there = gpu().allocate(bytes.size());
  const auto copy = gpu().allocate(bytes.size());
  gpu().write(there.get(), bytes.data(), bytes.size());
  const View data{there.get(), host.size(), DataType::f32, kGpu};
  CudaRuntime::Stream other = nullptr;
  ASSERT_EQ(cuda_runtime().create_stream(&other, CudaRuntime::kStreamApart), 0);
  pause_stream(other, 200);
  const auto held = gpu().record(other);
  on_stream->wait_for(*held);
  on_stream->scale(data, 4);
  on_stream->finish_average(data, 3);
  on_stream->copy(copy.get(), there.get(), bytes.size());
  const auto end = on_stream->end();
  EXPECT_FALSE(end->reached() && !held->reached());
  while (!end->reached()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(held->reached());
  gpu().read(bytes.data(), copy.get(), bytes.size());
  EXPECT_THAT(host, testing::Each(4));
  EXPECT_TRUE(on_stream->computes(data));
  EXPECT_FALSE(on_stream->computes({there.get() + 1, 1, DataType::f32, kGpu}));
  EXPECT_THROW(on_stream->scale({there.get() + 1, 1, DataType::f32, kGpu}, 2), DeviceFailure);
  EXPECT_EQ(cuda_runtime().destroy_stream(other), 0);
}

TEST(CudaKernels, AreUsed) {
  ASSERT_NE(cuda_kernels(), nullptr);
  EXPECT_EQ(find_cuda_kernels_problem(), "");
  const Copy copy(std::vector<std::byte>(64));
  const View aligned = copy.view(DataType::f32);
  const View unaligned{aligned.data + 1, 3, DataType::f32, kGpu};
  EXPECT_EQ(cuda_kernels()->scale(aligned, 2, nullptr), 0);
  EXPECT_EQ(cuda_runtime().finish_stream(nullptr), CudaRuntime::kSuccess);
  EXPECT_EQ(cuda_kernels()->scale(unaligned, 2, nullptr), CudaKernels::kUnsupported);
  EXPECT_EQ(cuda_kernels()->convert(unaligned, aligned, nullptr), CudaKernels::kUnsupported);
}

}  // namespace
}  // namespace bp::test
