// Tensors on a device, for tests that compare it with the CPU.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/support/fake_torch_device/use.h"
#include "tests/support/model_kernels_on_host/use.h"

namespace bp::trainer {

inline at::Tensor on_device(const at::Tensor& x) { return x.to(bp::test::torch_device()); }

// Compares numbers of the device with those of the CPU.
inline void expect_near(const at::Tensor& got, const at::Tensor& right) {
  EXPECT_FALSE(got.is_cpu());
  EXPECT_TRUE(at::allclose(got.cpu(), right.cpu(), 1e-4, 1e-6)) << got << '\n' << right;
}

inline void expect_equal(const at::Tensor& got, const at::Tensor& right) {
  EXPECT_TRUE(at::equal(got.cpu(), right.cpu())) << got << '\n' << right;
}

}  // namespace bp::trainer
