// Arithmetic on gradients that lie on a device, by LibTorch's operations. They run on LibTorch's
// current stream, so they follow what autograd has written, and the host need not wait for that.
//
// Threads: any.
#pragma once

#include <memory>

#include <c10/core/Device.h>

#include "comm/torch/bucket_arithmetic.h"

namespace bp {

// Returns the arithmetic of buckets on a device, and null for the CPU, whose needs no LibTorch.
[[nodiscard]] std::unique_ptr<const BucketArithmetic> device_bucket_arithmetic(c10::Device device);

}  // namespace bp
