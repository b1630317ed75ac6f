#include "comm/torch/device_arithmetic.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

// Returns the 2-norm of all elements, a scalar on the device.
at::Tensor norm_of(const std::vector<at::Tensor>& tensors) {
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(tensors, 2, at::kDouble)), 2);
}

class DeviceBucketArithmetic final : public BucketArithmetic {
 public:
  explicit DeviceBucketArithmetic(c10::Device device) : device_(device) {}

  [[nodiscard]] Device device() const override { return device_of(device_); }
  [[nodiscard]] void* stream() const override { return current_stream(device_); }
  void finish_stream() const override { finish_current_stream(device_); }

  [[nodiscard]] std::shared_ptr<std::byte> floats_of_zero(std::size_t count) const override {
    const auto floats = std::make_shared<at::Tensor>(
        at::zeros({static_cast<std::int64_t>(count)}, at::device(device_).dtype(at::kFloat)));
    return {floats, static_cast<std::byte*>(floats->mutable_data_ptr())};
  }
  void clear(const View& data) const override { tensor_of(data).zero_(); }
  // A copy of a few values from pageable memory is staged at once, so the host does not wait.
  void write(const View& to, std::span<const float> values) const override {
    const auto count = static_cast<std::int64_t>(values.size());
    tensor_of(to).copy_(at::from_blob(const_cast<float*>(values.data()), {count}, at::kFloat),
                        /*non_blocking=*/true);
  }
  std::optional<double> read(std::span<double> values,
                             const ConstView& from,
                             std::span<const ConstView> sums) const override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> filled;
    for (const ConstView& one : sums) {
      if (one.count > 0) filled.push_back(tensor_of(one));
    }
    std::vector<at::Tensor> all;
    if (from.count > 0) all.push_back(tensor_of(from).to(at::kDouble));
    if (!filled.empty()) all.push_back(norm_of(filled).reshape({1}));
    if (all.empty()) return 0;
    const at::Tensor host = at::cat(all).cpu();
    std::copy_n(host.const_data_ptr<double>(), values.size(), values.begin());
    return filled.empty() ? 0 : host.const_data_ptr<double>()[values.size()];
  }
  void add(const View& into, const ConstView& what) const override {
    tensor_of(into).add_(tensor_of(what));
  }
  void scale(const View& data, double factor) const override { tensor_of(data).mul_(factor); }
  void convert(const View& to, const ConstView& from) const override {
    tensor_of(to).copy_(tensor_of(from));
  }
  void rounding_errors(DataType half, const View& errors, const ConstView& values) const override {
    at::Tensor result = tensor_of(errors);
    const at::Tensor exact = tensor_of(values);
    at::sub_out(result, exact, exact.to(scalar_type_of(half)));
  }

 private:
  [[nodiscard]] at::Tensor tensor_of(const ConstView& data) const {
    return at::for_blob(const_cast<std::byte*>(data.data), {static_cast<std::int64_t>(data.count)})
        .options(at::dtype(scalar_type_of(data.type)).device(device_))
        .target_device(device_)
        .make_tensor();
  }

  c10::Device device_;
};

}  // namespace

std::unique_ptr<const BucketArithmetic> device_bucket_arithmetic(c10::Device device) {
  if (device.is_cpu()) return nullptr;
  return std::make_unique<DeviceBucketArithmetic>(device);
}

}  // namespace bp
