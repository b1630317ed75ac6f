#include "comm/torch/bucket.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <utility>

#include "bp/collective.h"
#include "comm/base/check.h"
#include "comm/reduce/halves.h"
#include "comm/torch/gradient_math.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

std::byte* bytes_of(const at::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.mutable_data_ptr());
}

at::Tensor part(const at::Tensor& whole, const Slot& slot, const at::Tensor& like) {
  return whole.as_strided(like.sizes(), like.strides(), static_cast<std::int64_t>(slot.offset));
}

}  // namespace

Bucket::Bucket(Communicator& comm, BucketPlan plan, std::size_t extra, bool error_feedback)
    : comm_(comm), plan_(std::move(plan)), extra_(extra) {
  BP_CHECK(extra == 0 || plan_.wire == DataType::f32, "totals in another type than f32");
  buffer_ = std::make_shared<Buffer>(comm.allocate((plan_.count + extra) * size_of(plan_.wire)));
  const auto count = static_cast<std::int64_t>(plan_.count);
  const auto options = at::dtype(scalar_type_of(plan_.type));
  if (is_narrowed()) {
    memory_ = at::zeros({count}, options);
    if (error_feedback) residual_ = at::zeros({count}, options);
  } else {
    const auto keep = [buffer = buffer_](void*) {};
    memory_ = at::from_blob(buffer_->data(), {count}, keep, options);
  }
}

at::Tensor Bucket::place(const Slot& slot, const at::Tensor& parameter) const {
  // Not a view of memory_: each place has a version of its own, by which changes are seen.
  const auto keep = [memory = memory_](void*) {};
  return at::from_blob(bytes_of(memory_) + slot.offset * size_of(plan_.type), parameter.sizes(),
                       parameter.strides(), keep, memory_.options());
}

at::Tensor Bucket::residual(const Slot& slot, const at::Tensor& parameter) const {
  return residual_.defined() ? part(residual_, slot, parameter) : at::Tensor();
}

float* Bucket::extra() const { return reinterpret_cast<float*>(buffer_->data()) + plan_.count; }

void Bucket::clear(const Slot& slot) {
  const std::size_t width = size_of(plan_.type);
  std::memset(bytes_of(memory_) + slot.offset * width, 0, slot.count * width);
}

void Bucket::start(const std::string& name) {
  if (is_narrowed()) {
    if (residual_.defined()) {
      add(memory_.mutable_data_ptr<float>(), residual_.const_data_ptr<float>(), plan_.count);
    }
    narrow(plan_.wire, buffer_->data(), bytes_of(memory_), plan_.count);
  }
  name_ = name;
  work_ = all_reduce_async(
      comm_, {.data = buffer_->data(), .count = plan_.count + extra_, .type = plan_.wire},
      {.op = ReduceOp::sum, .name = name_});
}

bool Bucket::is_finite() const { return all_finite(plan_.wire, buffer_->data(), plan_.count); }

void Bucket::finish(bool count_errors) {
  if (!is_narrowed()) return;
  if (count_errors && residual_.defined()) {
    rounding_errors(plan_.wire, residual_.mutable_data_ptr<float>(),
                    memory_.const_data_ptr<float>(), plan_.count);
  }
  widen(plan_.wire, bytes_of(memory_), buffer_->data(), plan_.count);
}

void Bucket::scale_residual(double factor) {
  if (residual_.defined()) residual_.mul_(factor);
}

}  // namespace bp
