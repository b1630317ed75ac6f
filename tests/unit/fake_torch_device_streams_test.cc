// Streams, events and several devices of the fake device of LibTorch.
// docs/acceptance.md, Devices: LibTorch's fake device computes what the host computes, and catches
// host accesses and races of streams.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "tests/support/fake_torch_device/use.h"

namespace bp::test {
namespace {

using at::Tensor;

const int kHasDevices = ::setenv("FAKE_CUDA_DEVICES", "5", 0);  // as the rest of this program

c10::impl::VirtualGuardImpl streams() { return c10::impl::VirtualGuardImpl(torch_device().type()); }
c10::Stream new_stream(int index = 0) {
  return streams().getStreamFromGlobalPool(torch_device(index));
}
Tensor ones(at::IntArrayRef sizes, int index = 0) { return at::ones(sizes, torch_device(index)); }

class FakeTorchStreams : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

TEST_F(FakeTorchStreams, WorkOfTwoStreamsOnATensorIsARace) {
  const auto race = [] {
    const Tensor x = ones({4});
    const c10::Stream other = new_stream();
    const c10::StreamGuard guard(other);
    x.add_(1);
    other.synchronize();
  };
  EXPECT_DEATH(race(), "fake CUDA: a race: aten::fill_ that writes on stream 0 and aten::add_?");
}

TEST_F(FakeTorchStreams, AnEventOrdersStreams) {
  const Tensor x = ones({4});
  const c10::Stream first = streams().getStream(torch_device());
  const c10::Stream other = new_stream();
  pause_stream(first.native_handle(), 20);
  x.add_(1);
  c10::Event event(torch_device().type());
  event.record(first);
  event.block(other);
  {
    const c10::StreamGuard guard(other);
    EXPECT_EQ(streams().getStream(torch_device()), other);
    x.mul_(3);
    EXPECT_EQ(x.sum().item().toFloat(), 24.F);
  }
  EXPECT_EQ(streams().getStream(torch_device()), first);
  EXPECT_TRUE(event.query());
}

TEST_F(FakeTorchStreams, ATensorThatEndsWhileAnotherStreamUsesItIsARace) {
  const auto use = [](bool tells) {
    const c10::Stream first = streams().getStream(torch_device());
    const c10::Stream other = new_stream();
    Tensor x = ones({4});
    first.synchronize();
    pause_stream(other.native_handle(), 50);
    Tensor y;
    {
      const c10::StreamGuard guard(other);
      y = x + 1;
    }
    if (tells) x.record_stream(other);
    x = Tensor();
    first.synchronize();
    other.synchronize();
  };
  EXPECT_DEATH(use(false), "fake CUDA: a race: .*the end of a tensor that writes");
  use(true);
}

TEST_F(FakeTorchStreams, APinnedTensorHasItsValuesOnceItsCopyIsDone) {
  const Tensor x = ones({4});
  const Tensor host = at::zeros({4}).pin_memory();
  EXPECT_TRUE(host.is_pinned());
  const c10::Stream stream = streams().getStream(torch_device());
  stream.synchronize();
  pause_stream(stream.native_handle(), 100);
  host.copy_(x, /*non_blocking=*/true);
  EXPECT_EQ(host[3].item().toFloat(), 0.F);
  stream.synchronize();
  EXPECT_EQ(host[3].item().toFloat(), 1.F);

  // LibTorch keeps the pinned memory of a copy that is not done.
  pause_stream(stream.native_handle(), 20);
  const Tensor arrived = at::arange(1000).pin_memory().to(torch_device(), /*non_blocking=*/true);
  const Tensor next = at::zeros({1000}, at::kLong).pin_memory();
  EXPECT_TRUE(at::equal(arrived.cpu(), at::arange(1000)));
}

TEST_F(FakeTorchStreams, ABackwardPassUsesTheStreamsOfTheForwardPass) {
  const auto gradient = [](at::Device device, const auto& with_stream) {
    const Tensor w =
        at::arange(6, at::TensorOptions(device).dtype(at::kFloat)).view({2, 3}).requires_grad_();
    Tensor x = w.exp();
    with_stream([&] { x = at::softmax(x, 1) * w; });
    (x * x).sum().backward();
    return w.grad().cpu();
  };
  const Tensor expected = gradient(at::kCPU, [](const auto& work) { work(); });
  const auto on_other_stream = [](const auto& work) {
    const c10::Stream first = streams().getStream(torch_device());
    const c10::Stream other = new_stream();
    const auto order = [](const c10::Stream& before, const c10::Stream& after) {
      c10::Event event(before.device_type());
      event.record(before);
      event.block(after);
    };
    order(first, other);
    {
      const c10::StreamGuard guard(other);
      work();
    }
    order(other, first);
  };
  EXPECT_TRUE(at::equal(gradient(torch_device(), on_other_stream), expected));
}

TEST_F(FakeTorchStreams, DevicesAreApart) {
  const Tensor x = at::arange(6, torch_device(0)).view({2, 3});
  const Tensor y = x.t().to(torch_device(1), at::kFloat);
  EXPECT_EQ(y.device(), torch_device(1));
  EXPECT_TRUE(at::equal(y.cpu(), x.cpu().t().to(at::kFloat)));
  EXPECT_THROW(static_cast<void>(x + x.to(torch_device(1))), c10::Error);
  EXPECT_EQ(streams().getDevice(), torch_device(0));
  {
    const c10::DeviceGuard guard(torch_device(1));
    EXPECT_EQ(at::empty({1}, at::Device(torch_device().type())).device(), torch_device(1));
  }
  EXPECT_EQ(streams().getDevice(), torch_device(0));
  EXPECT_EQ(streams().deviceCount(), 5);
}

TEST_F(FakeTorchStreams, ThreadsAreRanks) {
  const auto train = [](at::Device device, float first) {
    Tensor w = at::full({3, 3}, first, device).requires_grad_();
    for (int step = 0; step < 5; ++step) {
      at::mm(w, w).sin().sum().backward();
      const at::NoGradGuard guard;
      w.sub_(w.grad() * 0.1);
      w.mutable_grad() = Tensor();
    }
    return w.detach().cpu();
  };
  for (const int devices : {1, 2}) {
    std::vector<Tensor> results(4);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 4; ++rank) {
      ranks.emplace_back([&, rank] {
        results[static_cast<std::size_t>(rank)] =
            train(torch_device(rank % devices), static_cast<float>(rank) * 0.1F);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    for (std::size_t rank = 0; rank < 4; ++rank) {
      EXPECT_TRUE(at::equal(results[rank], train(at::kCPU, static_cast<float>(rank) * 0.1F)));
    }
  }
}

TEST_F(FakeTorchStreams, AFailedAllocationIsWhatCudaThrows) {
  const auto allocate = [] {
    ::setenv("FAKE_CUDA_FAIL", "cudaMalloc:1:2", 1);
    try {
      static_cast<void>(ones({4}));
    } catch (const c10::OutOfMemoryError& error) {
      std::cerr << error.what_without_backtrace();
      std::exit(0);
    }
    std::exit(1);
  };
  EXPECT_EXIT(allocate(), testing::ExitedWithCode(0), "CUDA out of memory");
}

}  // namespace
}  // namespace bp::test
