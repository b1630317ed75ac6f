// The fake device of LibTorch must compute what the host does, and catch what a real device would
// punish: it is what shows that code for tensors on devices is right where there is no device.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "comm/device/device_memory.h"
#include "tests/support/fake_torch_device/use.h"

namespace bp::test {
namespace {

using at::Tensor;

at::Device fake() { return torch_device(0); }

void expect_same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.detach().cpu().contiguous();
  const Tensor y = b.detach().cpu().contiguous();
  ASSERT_EQ(x.scalar_type(), y.scalar_type());
  ASSERT_EQ(x.sizes(), y.sizes());
  EXPECT_TRUE(at::equal(x, y)) << x << '\n' << y;
}

// A matrix product with a backward pass of its own.
class Product : public torch::autograd::Function<Product> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context,
                        const Tensor& x,
                        const Tensor& weight) {
    context->save_for_backward({x, weight});
    return at::mm(x, weight.t());
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    return {at::mm(gradients[0], saved[1]), at::mm(gradients[0].t(), saved[0])};
  }
};

struct Trained {
  std::vector<Tensor> parameters = {};
  std::vector<double> losses = {};
  double norm = 0;
};

// Trains an embedding and two layers for some steps.
Trained train(at::Device device) {
  at::manual_seed(1);
  const auto made = [&](at::IntArrayRef sizes) {
    return (at::randn(sizes) * 0.1).to(device).requires_grad_();
  };
  Trained result;
  auto& p = result.parameters;
  p = {made({11, 8}), made({16, 8}), made({16}), made({16}), made({5, 16}), made({5})};
  std::vector<Tensor> first;
  std::vector<Tensor> second;
  std::vector<Tensor> steps;
  for (const Tensor& one : p) {
    first.push_back(at::zeros_like(one));
    second.push_back(at::zeros_like(one));
    steps.push_back(at::zeros({}, one.options()));
  }
  for (int step = 0; step < 4; ++step) {
    const Tensor words = at::randint(11, {6, 3}).to(device);
    const Tensor labels = at::randint(5, {6}).to(device);
    const Tensor x = at::embedding(p[0], words).mean(1);
    const Tensor hidden = at::layer_norm(at::gelu(Product::apply(x, p[1])), {16}, p[2], p[3]);
    const Tensor loss = at::cross_entropy_loss(at::linear(hidden, p[4], p[5]), labels);
    loss.backward();
    result.losses.push_back(loss.item().toDouble());
    std::vector<Tensor> gradients;
    for (const Tensor& one : p) gradients.push_back(one.grad());
    const at::NoGradGuard guard;
    const Tensor norm = at::stack(at::_foreach_norm(gradients)).norm();
    result.norm = norm.item().toDouble();
    at::_foreach_mul_(gradients, at::clamp_max(0.5 / norm, 1.0));
    at::_foreach_add_(steps, 1);
    at::_fused_adamw_(p, gradients, first, second, {}, steps, 0.01, 0.9, 0.999, 0.01, 1e-8, false,
                      false);
    for (Tensor& one : p) one.mutable_grad() = Tensor();
  }
  return result;
}

class FakeTorchDevice : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

// docs/acceptance.md, Devices: LibTorch's fake device computes what the host computes, and catches
// host accesses and races of streams.
TEST_F(FakeTorchDevice, TrainsToTheSameBitsAsTheHost) {
  const Trained host = train(at::kCPU);
  const Trained device = train(fake());
  EXPECT_EQ(device.losses, host.losses);
  EXPECT_EQ(device.norm, host.norm);
  for (std::size_t i = 0; i < host.parameters.size(); ++i) {
    EXPECT_EQ(device.parameters[i].device(), fake());
    expect_same_bits(device.parameters[i], host.parameters[i]);
  }
}

TEST_F(FakeTorchDevice, AnAccessOfTheHostToATensorIsASegmentationFault) {
  const auto read = [] {
    std::signal(SIGSEGV, SIG_DFL);
    const Tensor x = at::ones({3}, fake());
    const volatile float* const there = x.const_data_ptr<float>();
    static_cast<void>(*there);
    std::exit(0);
  };
  EXPECT_EXIT(read(), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(FakeTorchDevice, ViewsShareMemory) {
  const Tensor x = at::arange(12, at::TensorOptions(fake()).dtype(at::kFloat)).view({3, 4});
  x.t().select(0, 1).mul_(10);
  x.slice(1, 2, 4).unfold(1, 2, 1).fill_(7);
  expect_same_bits(
      x, at::tensor({0.F, 10.F, 7.F, 7.F, 4.F, 50.F, 7.F, 7.F, 8.F, 90.F, 7.F, 7.F}).view({3, 4}));
  EXPECT_EQ(x.reshape({-1}).const_data_ptr(), x.const_data_ptr());
  Tensor other = at::empty({0}, fake());
  other.set_data(x.select(0, 2));
  other.add_(1);
  EXPECT_EQ(x[2][0].item().toFloat(), 9.F);
  expect_same_bits(x.index_select(0, at::tensor({2, 0}).to(fake())),
                   x.cpu().flip(0).slice(0, 0, 3, 2));
}

TEST_F(FakeTorchDevice, MemoryOfBpIsATensor) {
  const Memory& gpu = memory_of({Device::Kind::cuda, 0});
  const std::shared_ptr<std::byte> memory = gpu.allocate(64);
  const Tensor x = at::for_blob(memory.get() + 16, {4})
                       .options(at::TensorOptions(fake()).dtype(at::kFloat))
                       .target_device(fake())
                       .make_tensor();
  x.fill_(2.5);
  x.slice(0, 1, 2).zero_();
  c10::impl::VirtualGuardImpl(fake().type()).synchronizeDevice(0);
  std::vector<float> host(4);
  gpu.read(reinterpret_cast<std::byte*>(host.data()), memory.get() + 16, 16);
  EXPECT_THAT(host, testing::ElementsAre(2.5F, 0.F, 2.5F, 2.5F));
}

TEST_F(FakeTorchDevice, OperatorsThatMakeTheirResultsWork) {
  at::manual_seed(2);
  const Tensor x = at::randn({4, 6});
  const Tensor on = x.to(fake());
  expect_same_bits(std::get<0>(on.topk(2)), std::get<0>(x.topk(2)));
  expect_same_bits(std::get<1>(on.max(1)), std::get<1>(x.max(1)));
  expect_same_bits(std::get<1>(on.sort()), std::get<1>(x.sort()));
  expect_same_bits(on.gt(0).nonzero(), x.gt(0).nonzero());
  expect_same_bits(on.masked_select(on.gt(0)), x.masked_select(x.gt(0)));
  expect_same_bits(at::cat({on, on.t().reshape({4, 6})}, 1),
                   at::cat({x, x.t().reshape({4, 6})}, 1));
  expect_same_bits(on.index({at::tensor({2, 0})}), x.index({at::tensor({2, 0})}));
  expect_same_bits(at::where(on.lt(0), on, 1.0), at::where(x.lt(0), x, 1.0));
  expect_same_bits(on.to(at::kBFloat16).matmul(on.t().to(at::kBFloat16)),
                   x.to(at::kBFloat16).matmul(x.t().to(at::kBFloat16)));
  expect_same_bits(at::argmax(on, 1, false), at::argmax(x, 1, false));
  expect_same_bits(on.softmax(1).log().var(1), x.softmax(1).log().var(1));
  expect_same_bits(on.expand({2, 4, 6}).bmm(on.t().expand({2, 6, 4})),
                   x.expand({2, 4, 6}).bmm(x.t().expand({2, 6, 4})));
  EXPECT_TRUE(at::equal(on, on.clone()));
  EXPECT_EQ(at::empty({0, 3}, fake()).sum().item().toFloat(), 0.F);
}

TEST_F(FakeTorchDevice, ProductsCanHaveAWiderType) {
  const Tensor x = at::randn({3, 4}).to(at::kBFloat16);
  const Tensor on = x.to(fake());
  const Tensor wide = x.to(at::kFloat);
  expect_same_bits(at::mm(on, on.t(), at::kFloat), at::mm(wide, wide.t()));
  EXPECT_THROW(static_cast<void>(at::mm(on, on.t(), at::kHalf)), c10::Error);
}

TEST_F(FakeTorchDevice, RandomNumbersAreTheHosts) {
  at::manual_seed(3);
  const Tensor host = at::dropout(at::randn({40}), 0.5, true);
  at::manual_seed(3);
  expect_same_bits(at::dropout(at::randn({40}, fake()), 0.5, true), host);
}

TEST_F(FakeTorchDevice, TensorsChangeTheirSize) {
  Tensor x = at::arange(4, at::TensorOptions(fake()).dtype(at::kFloat));
  x.resize_({2, 4});
  expect_same_bits(x[0], at::arange(4, at::kFloat));
  Tensor out = at::empty({0}, fake());
  at::mm_out(out, x.slice(1, 0, 2), x.slice(1, 0, 2));
  EXPECT_EQ(out.sizes(), at::IntArrayRef({2, 2}));
  Tensor found = at::empty({0}, at::TensorOptions(fake()).dtype(at::kLong));
  at::nonzero_out(found, x[0]);
  expect_same_bits(found, at::arange(1, 4).view({3, 1}));
  x.set_(out);
  EXPECT_EQ(x.const_data_ptr(), out.const_data_ptr());
  x.set_();
  EXPECT_EQ(x.numel(), 0);
}

TEST_F(FakeTorchDevice, ATensorOfTheHostIsRefusedWhereCudaRefusesIt) {
  const Tensor x = at::ones({3, 3}, fake());
  const Tensor host = at::ones({3, 3});
  const Tensor words = at::zeros({2}, at::kLong);
  EXPECT_THROW(static_cast<void>(x + host), c10::Error);
  EXPECT_THROW(static_cast<void>(at::mm(x, host)), c10::Error);
  EXPECT_THROW(static_cast<void>(at::embedding(x, words)), c10::Error);
  EXPECT_THROW(static_cast<void>(at::index_select(x, 0, words)), c10::Error);
  EXPECT_THROW(at::_foreach_add_(std::vector{x}, std::vector{host}), c10::Error);
  EXPECT_THROW(static_cast<void>(at::linear(x, host)), c10::Error);
  expect_same_bits(x * at::scalar_tensor(2), host * 2);
  // An operator that failed leaves the stream as it was.
  EXPECT_THROW(static_cast<void>(at::mm(x, x.view({9, 1}))), c10::Error);
  expect_same_bits(x + 1, host + 1);
}

}  // namespace
}  // namespace bp::test
